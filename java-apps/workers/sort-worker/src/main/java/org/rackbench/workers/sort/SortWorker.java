package org.rackbench.workers.sort;

import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.Destination;
import jakarta.jms.InvalidDestinationException;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import java.io.IOException;
import java.nio.file.Files;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import javax.naming.NamingException;
import org.rackbench.messaging.Broker;
import org.rackbench.messaging.SortQueues;

/**
 * Sorts the parts that come through the queues of its pools until it is told to stop. A lost broker
 * is looked for again and again. A request counts as taken only after its reply is sent, so a
 * worker that dies leaves it to another.
 */
public final class SortWorker {

  private static final long FIRST_PAUSE_MILLIS = 200;
  private static final long LONGEST_PAUSE_MILLIS = 10_000;
  private static final int HEAP_SHARE = 16; // body, integers, reply and the broker client's copies

  private final Options options;
  private final Part part;
  private volatile boolean stopping;
  private Connection current;

  private SortWorker(Options options) {
    this.options = options;
    this.part = new Part(Runtime.getRuntime().maxMemory() / HEAP_SHARE);
  }

  public static void main(String[] args) {
    try {
      SortWorker worker = new SortWorker(Options.parse(args));
      Thread main = Thread.currentThread();
      Runtime.getRuntime().addShutdownHook(new Thread(() -> worker.stop(main), "stop"));
      worker.run();
    } catch (IllegalArgumentException e) {
      System.err.println("sort-worker: " + e.getMessage() + "\n" + Options.USAGE);
      System.exit(2);
    }
  }

  private void run() {
    long pause = FIRST_PAUSE_MILLIS;
    while (!stopping) {
      CountDownLatch lost = new CountDownLatch(1);
      try {
        listen(lost);
        pause = FIRST_PAUSE_MILLIS;
        lost.await();
      } catch (JMSException | NamingException | IOException | RuntimeException e) {
        log("cannot listen: " + e.getMessage());
      } catch (InterruptedException e) {
        log("stopping");
      }
      disconnect();
      pause = pause(pause);
    }
  }

  /** Waits, with jitter, so that the workers do not all come back at the same moment. */
  private long pause(long longest) {
    try {
      if (!stopping) {
        Thread.sleep(ThreadLocalRandom.current().nextLong(longest / 2, longest));
      }
    } catch (InterruptedException e) {
      log("stopping");
    }
    return Math.min(2 * longest, LONGEST_PAUSE_MILLIS);
  }

  private void listen(CountDownLatch lost) throws JMSException, NamingException, IOException {
    Connection connection = options.broker().connect();
    current = connection;
    connection.setExceptionListener(
        e -> {
          log("lost the broker: " + e.getMessage());
          lost.countDown();
        });
    for (int size : options.pools()) {
      if (size >= options.index()) {
        listen(connection, size);
      }
    }
    connection.start();
    if (options.readyFile() != null) {
      Files.writeString(options.readyFile(), options.name() + "\n");
    }
    log("ready");
  }

  private void listen(Connection connection, int size) throws JMSException, NamingException {
    String queue = SortQueues.pool(size);
    Session session =
        connection.createSession(false, Broker.acknowledgeMode(options.acknowledge()));
    MessageProducer replies = session.createProducer(null);
    session
        .createConsumer(options.broker().queue(queue), SortQueues.selector(size, options.index()))
        .setMessageListener(request -> answer(session, replies, queue, request));
  }

  /** Sorts one part; a listener may not throw, or the broker would deliver it here for ever. */
  private synchronized void answer(
      Session session, MessageProducer replies, String queue, Message request) {
    try {
      BytesMessage reply = session.createBytesMessage();
      reply.setJMSCorrelationID(request.getJMSCorrelationID());
      reply.setStringProperty(SortQueues.WORKER, options.name());
      try {
        reply.writeBytes(part.sort(request));
      } catch (Part.Refused e) {
        log("%s: refused %s: %s".formatted(queue, request.getJMSMessageID(), e.getMessage()));
        reply.setStringProperty(SortQueues.ERROR, e.getMessage());
      }
      send(replies, reply, request);
      if (session.getAcknowledgeMode() == Session.CLIENT_ACKNOWLEDGE) {
        request.acknowledge();
      }
    } catch (JMSException | RuntimeException e) {
      log("%s: cannot answer: %s".formatted(queue, e.getMessage()));
    }
  }

  private void send(MessageProducer replies, Message reply, Message request) throws JMSException {
    Destination replyTo = request.getJMSReplyTo();
    if (replyTo == null) {
      log("dropped the answer to " + request.getJMSMessageID() + ": it names no reply queue");
      return;
    }
    try {
      replies.send(
          replyTo, reply, request.getJMSDeliveryMode(), Message.DEFAULT_PRIORITY, 0 /* no end */);
    } catch (InvalidDestinationException e) {
      log("dropped the answer to " + request.getJMSMessageID() + ": its client is gone");
    }
  }

  private void disconnect() {
    try {
      if (options.readyFile() != null) {
        Files.deleteIfExists(options.readyFile());
      }
      if (current != null) {
        current.close();
      }
    } catch (JMSException | IOException e) {
      log("closing: " + e.getMessage());
    }
    current = null;
  }

  /** Ends {@link #run}; closing the connection there waits for the part in work. */
  private void stop(Thread main) {
    stopping = true;
    main.interrupt();
    try {
      main.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    Runtime.getRuntime().halt(0);
  }

  private void log(String line) {
    System.out.println(options.name() + ": " + line);
  }
}
