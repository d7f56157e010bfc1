package org.rackbench.workers.hello;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import javax.jms.Connection;
import javax.jms.JMSException;
import javax.naming.NamingException;
import org.rackbench.axisjms.AxisBroker;
import org.rackbench.axisjms.ReplyAdapter;
import org.rackbench.axisserver.Descriptions;
import org.rackbench.axisserver.GuardedParserFactory;
import org.rackbench.workloads.program.Arguments;
import org.rackbench.workloads.program.Backoff;
import org.rackbench.workloads.program.BrokerAccount;
import org.rackbench.workloads.program.ReadyFile;

/**
 * The service {@code Hello} behind a queue, by Axis's own JMS listener. It waits until the broker
 * can be reached. When it loses the broker, it ends and its unit restarts it, because Axis's
 * listener does not report whether it has reconnected.
 */
public final class HelloListener {

  static final String USAGE =
      """
      usage: java -cp 'hello-listener/*' org.rackbench.workers.hello.HelloListener --queue NAME
                  --jndi-url URL --username USER --password-file FILE
                  [--connection-factory NAME] [--sessions N] [--ready-file FILE]
      --sessions: number of requests answered at once (16).""";

  private static final int REPLY_SESSIONS = 16;
  private static final int MOST_SESSIONS = 1000;

  /** Not 3, which the runner reads as a JVM that ran out of memory. */
  private static final int LOST_BROKER = 4;

  private final String queue;
  private final AxisBroker broker;
  private final int sessions;
  private final ReadyFile readyFile;

  private HelloListener(String queue, AxisBroker broker, int sessions, ReadyFile readyFile) {
    this.queue = queue;
    this.broker = broker;
    this.sessions = sessions;
    this.readyFile = readyFile;
  }

  /** Exit status 2: bad usage; 4: the broker is lost; 0: ended by a signal. */
  public static void main(String[] args) throws InterruptedException {
    System.setProperty("axis.ServerConfigFile", "hello-listener.wsdd");
    GuardedParserFactory.install();
    ReplyAdapter.install();
    try {
      listener(args).run();
    } catch (IllegalArgumentException e) {
      System.err.println("hello-listener: " + e.getMessage() + "\n" + USAGE);
      System.exit(2);
    }
  }

  static HelloListener listener(String[] args) {
    List<String> options = new ArrayList<>(List.of(BrokerAccount.OPTIONS));
    options.addAll(List.of("--queue", "--sessions", ReadyFile.OPTION));
    Arguments arguments = Arguments.parse(args, options.toArray(String[]::new));
    return new HelloListener(
        arguments.text("--queue"),
        new AxisBroker(BrokerAccount.of(arguments)),
        arguments.number("--sessions", REPLY_SESSIONS, MOST_SESSIONS),
        ReadyFile.of(arguments));
  }

  private void run() throws InterruptedException {
    Runtime.getRuntime().addShutdownHook(new Thread(() -> end(0), "stop"));
    CountDownLatch lost = new CountDownLatch(1);
    awaitBroker(lost);
    try {
      listen();
      lost.await();
    } catch (Exception e) {
      log("cannot listen: " + e); // only the end of the JVM closes what Axis has opened
      Thread.sleep(Backoff.LONGEST_MILLIS / 2);
    }
    end(LOST_BROKER);
  }

  private void awaitBroker(CountDownLatch lost) throws InterruptedException {
    Backoff backoff = new Backoff();
    while (true) {
      try {
        watch(lost);
        return;
      } catch (JMSException | NamingException | IOException | RuntimeException e) {
        log("cannot reach the broker: " + e.getMessage());
      }
      backoff.pause();
    }
  }

  /**
   * Opens a connection that reports the loss of the broker, which Axis's own connections do not.
   */
  private void watch(CountDownLatch lost) throws JMSException, NamingException, IOException {
    Connection connection = broker.connect();
    connection.setExceptionListener(
        e -> {
          log("lost the broker: " + e.getMessage());
          lost.countDown();
        });
    connection.start();
  }

  private void listen() throws Exception {
    PoolingListener listener = new PoolingListener(queue, broker, sessions);
    Descriptions.complete(listener.engine());
    listener.start();
    readyFile.write(queue);
    log("ready");
  }

  private void end(int status) {
    try {
      readyFile.remove();
    } catch (IOException e) {
      log(e.toString());
    }
    Runtime.getRuntime().halt(status);
  }

  private void log(String line) {
    System.out.println(queue + ": " + line);
  }
}
