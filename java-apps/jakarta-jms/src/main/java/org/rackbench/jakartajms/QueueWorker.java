package org.rackbench.jakartajms;

import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.InvalidDestinationException;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import javax.naming.NamingException;
import org.rackbench.workloads.program.Arguments;
import org.rackbench.workloads.program.Backoff;
import org.rackbench.workloads.program.BrokerAccount;
import org.rackbench.workloads.program.ReadyFile;

/**
 * Answers the requests of its queues, one at a time, until it is stopped. If it loses the broker,
 * it tries to reconnect. It acknowledges a request only after sending the reply, so the broker
 * gives a dead worker's request to another worker.
 */
public final class QueueWorker {

  /** Property of a reply: the name of the worker that sent it. */
  public static final String WORKER = "worker";

  /** Property of a reply without a body: why the worker could not answer. */
  public static final String ERROR = "error";

  private static final int HEAP_SHARE = 16; // body, values, reply and the broker client's copies

  /**
   * One consumer.
   *
   * @param queue JNDI name
   * @param selector JMS selector of the queue's messages, null for all
   */
  public record Subscription(String queue, String selector) {}

  private final String name;
  private final JakartaBroker broker;
  private final int acknowledgeMode;
  private final ReadyFile readyFile;
  private final Backoff backoff = new Backoff();
  private final List<Subscription> subscriptions;
  private final BytesService service;
  private final long maximumBytes = Runtime.getRuntime().maxMemory() / HEAP_SHARE;
  private volatile boolean stopping;
  private Connection current;

  private QueueWorker(
      String name,
      JakartaBroker broker,
      int acknowledgeMode,
      ReadyFile readyFile,
      List<Subscription> subscriptions,
      BytesService service) {
    this.name = name;
    this.broker = broker;
    this.acknowledgeMode = acknowledgeMode;
    this.readyFile = readyFile;
    this.subscriptions = subscriptions;
    this.service = service;
  }

  /**
   * Reads a worker's command line: its name, its broker and its acknowledge mode.
   *
   * @param own the option that only this worker program has
   */
  public static Arguments arguments(String[] args, String own) {
    List<String> options = new ArrayList<>(List.of(BrokerAccount.OPTIONS));
    options.addAll(List.of(own, "--name", "--acknowledge", ReadyFile.OPTION));
    return Arguments.parse(args, options.toArray(String[]::new));
  }

  /**
   * Returns a worker that has not connected yet.
   *
   * @param arguments as {@link #arguments} reads them
   * @param subscriptions the consumers that it opens
   * @param service turns the body of a request into the body of its reply
   */
  public static QueueWorker of(
      Arguments arguments, List<Subscription> subscriptions, BytesService service) {
    return new QueueWorker(
        arguments.text("--name"),
        new JakartaBroker(BrokerAccount.of(arguments)),
        JakartaBroker.acknowledgeMode(arguments.text("--acknowledge", "auto")),
        ReadyFile.of(arguments),
        subscriptions,
        service);
  }

  /** Listens until the JVM is asked to end, and then finishes the current request. */
  public void run() {
    Thread main = Thread.currentThread();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(main), "stop"));
    while (!stopping) {
      CountDownLatch lost = new CountDownLatch(1);
      try {
        listen(lost);
        backoff.reset();
        lost.await();
      } catch (JMSException | NamingException | IOException | RuntimeException e) {
        log("cannot listen: " + e.getMessage());
      } catch (InterruptedException e) {
        log("stopping");
      }
      disconnect();
      pause();
    }
  }

  private void pause() {
    try {
      if (!stopping) {
        backoff.pause();
      }
    } catch (InterruptedException e) {
      log("stopping");
    }
  }

  private void listen(CountDownLatch lost) throws JMSException, NamingException, IOException {
    Connection connection = broker.connect();
    current = connection;
    connection.setExceptionListener(
        e -> {
          log("lost the broker: " + e.getMessage());
          lost.countDown();
        });
    for (Subscription subscription : subscriptions) {
      listen(connection, subscription);
    }
    connection.start();
    readyFile.write(name);
    log("ready");
  }

  private void listen(Connection connection, Subscription subscription)
      throws JMSException, NamingException {
    Session session = connection.createSession(false, acknowledgeMode);
    ReplySender replies = new ReplySender(session);
    session
        .createConsumer(broker.queue(subscription.queue()), subscription.selector())
        .setMessageListener(request -> answer(session, replies, subscription.queue(), request));
  }

  /**
   * Answers a request unless its client is gone, which would delay the next requests. It must not
   * throw, or the broker would deliver the request again and again.
   */
  synchronized void answer(Session session, ReplySender replies, String queue, Message request) {
    try {
      if (isAwaited(replies, request)) {
        reply(session, replies, queue, request);
      }
      if (session.getAcknowledgeMode() == Session.CLIENT_ACKNOWLEDGE) {
        request.acknowledge();
      }
    } catch (JMSException | RuntimeException e) {
      log("%s: cannot answer: %s".formatted(queue, e.getMessage()));
    }
  }

  private boolean isAwaited(ReplySender replies, Message request) throws JMSException {
    if (!(request.getJMSReplyTo() instanceof Queue replyTo)) {
      log("dropped " + request.getJMSMessageID() + ": it names no reply queue");
      return false;
    }
    try {
      replies.open(replyTo);
      return true;
    } catch (InvalidDestinationException e) {
      log("dropped " + request.getJMSMessageID() + ": its client is gone");
      return false;
    }
  }

  private void reply(Session session, ReplySender replies, String queue, Message request)
      throws JMSException {
    BytesMessage reply = session.createBytesMessage();
    reply.setJMSCorrelationID(request.getJMSCorrelationID());
    reply.setStringProperty(WORKER, name);
    try {
      reply.writeBytes(service.answer(body(request)));
    } catch (BytesService.Refused e) {
      log("%s: refused %s: %s".formatted(queue, request.getJMSMessageID(), e.getMessage()));
      reply.setStringProperty(ERROR, e.getMessage());
    }
    try {
      replies.send((Queue) request.getJMSReplyTo(), reply, request.getJMSDeliveryMode());
    } catch (InvalidDestinationException e) {
      log("dropped the answer to " + request.getJMSMessageID() + ": its client is gone");
    }
  }

  private byte[] body(Message request) throws JMSException, BytesService.Refused {
    if (!(request instanceof BytesMessage message)) {
      throw new BytesService.Refused("not a BytesMessage");
    }
    long length = message.getBodyLength();
    if (length > maximumBytes) {
      throw new BytesService.Refused(
          "body of %d bytes is longer than this worker takes, %d".formatted(length, maximumBytes));
    }
    byte[] body = new byte[(int) length];
    message.readBytes(body);
    return body;
  }

  private void disconnect() {
    try {
      readyFile.remove();
      if (current != null) {
        current.close();
      }
    } catch (JMSException | IOException e) {
      log("closing: " + e.getMessage());
    }
    current = null;
  }

  /** Ends {@link #run}, which closes the connection after the current request. */
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
    System.out.println(name + ": " + line);
  }
}
