package org.rackbench.workers.matrix;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.rackbench.commandline.Arguments;
import org.rackbench.matrix.MatrixBytes;
import org.rackbench.messaging.Broker;
import org.rackbench.messaging.BytesService;
import org.rackbench.messaging.QueueWorker;
import org.rackbench.messaging.QueueWorker.Subscription;

/**
 * The matrix service behind a queue: our level of the attachments study. It makes a {@code
 * float[][]} of what comes and bytes of it again, as the service behind SOAP does.
 */
public final class MatrixWorker {

  static final String USAGE =
      """
      usage: java -cp 'matrix-worker/*' org.rackbench.workers.matrix.MatrixWorker --name NAME
                  --queue NAME --jndi-url URL --username USER --password-file FILE
                  [--connection-factory NAME] [--acknowledge auto|client|dups-ok]
                  [--ready-file FILE]
      Names itself in its answers and its log, and listens on the queue.""";

  private MatrixWorker() {}

  public static void main(String[] args) {
    try {
      worker(args).run();
    } catch (IllegalArgumentException e) {
      System.err.println("matrix-worker: " + e.getMessage() + "\n" + USAGE);
      System.exit(2);
    }
  }

  static QueueWorker worker(String[] args) {
    Arguments arguments =
        Arguments.parse(
            args,
            "--name",
            "--queue",
            "--jndi-url",
            "--username",
            "--password-file",
            "--connection-factory",
            "--acknowledge",
            "--ready-file");
    String name = arguments.text("--name");
    Broker broker =
        new Broker(
            arguments.text("--jndi-url"),
            arguments.text("--connection-factory", "ConnectionFactory"),
            arguments.text("--username"),
            Path.of(arguments.text("--password-file")));
    String readyFile = arguments.text("--ready-file", "");
    return new QueueWorker(
        name,
        broker,
        arguments.text("--acknowledge", "auto"),
        readyFile.isEmpty() ? null : Path.of(readyFile),
        List.of(new Subscription(arguments.text("--queue"), null)),
        MatrixWorker::answer);
  }

  static byte[] answer(byte[] body) throws BytesService.Refused {
    try {
      return MatrixBytes.encode(MatrixBytes.decode(body));
    } catch (IOException e) {
      throw new BytesService.Refused(e.toString());
    }
  }
}
