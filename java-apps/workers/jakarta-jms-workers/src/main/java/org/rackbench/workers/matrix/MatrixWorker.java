package org.rackbench.workers.matrix;

import java.io.IOException;
import java.util.List;
import org.rackbench.jakartajms.BytesService;
import org.rackbench.jakartajms.QueueWorker;
import org.rackbench.jakartajms.QueueWorker.Subscription;
import org.rackbench.workloads.matrix.MatrixBytes;
import org.rackbench.workloads.program.Arguments;

/**
 * The matrix service behind a queue, a level of the attachments study that the paper does not have.
 * Like the service behind SOAP, it turns a request into a {@code float[][]} and that back into
 * bytes.
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
    Arguments arguments = QueueWorker.arguments(args, "--queue");
    List<Subscription> queue = List.of(new Subscription(arguments.text("--queue"), null));
    return QueueWorker.of(arguments, queue, MatrixWorker::answer);
  }

  static byte[] answer(byte[] body) throws BytesService.Refused {
    try {
      return MatrixBytes.encode(MatrixBytes.decode(body));
    } catch (IOException e) {
      throw new BytesService.Refused(e.toString());
    }
  }
}
