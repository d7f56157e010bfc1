import com.sun.messaging.ConnectionFactory;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Vector;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Session;
import javax.jms.TemporaryQueue;

/**
 * Calls over JMS, each on a connection of its own, whose answers OpenMQ's client may never deliver
 * (docs/explain/upstream.md). For OpenMQ 6, replace javax.jms by jakarta.jms in the imports.
 */
public final class Unanswered {

  private static final String USAGE =
      "usage: java [-Dpatience=MILLISECONDS] -cp .:imq.jar:jms.jar Unanswered mq://HOST:PORT/jms"
          + " start-first|at-once|spread|held THREADS CALLS SECONDS";

  /** When a connection is started. */
  private enum Order {
    /** Before its session is made. */
    START_FIRST,
    /** While another thread makes its session, as Axis does it. */
    AT_ONCE,
    /** The same at a random moment of the time that a session takes. */
    SPREAD,
    /** The same at the moment at which the client misses the session. */
    HELD
  }

  private static final String QUEUE = "unanswered";
  private static final long PATIENCE_MILLIS = Long.getLong("patience", 10_000);
  private static final ExecutorService POOL =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
          });

  private final ConnectionFactory factory = new ConnectionFactory();
  private final Order order;
  private final long calls;
  private final long end;
  private final AtomicLong begun = new AtomicLong();
  private final AtomicLong answered = new AtomicLong();
  private final AtomicLong revived = new AtomicLong();
  private final AtomicLong sessionNanos = new AtomicLong();

  private Unanswered(String address, Order order, long calls, long seconds) throws JMSException {
    factory.setProperty("imqAddressList", address);
    factory.setProperty("imqReconnectEnabled", "false");
    this.order = order;
    this.calls = calls;
    this.end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
  }

  public static void main(String[] args) throws Exception {
    if (args.length != 5) {
      System.err.println(USAGE);
      System.exit(2);
    }
    Order order = Order.valueOf(args[1].toUpperCase(Locale.ROOT).replace('-', '_'));
    new Unanswered(args[0], order, Long.parseLong(args[3]), Long.parseLong(args[4]))
        .run(Integer.parseInt(args[2]), args[1]);
  }

  private void run(int threads, String name) throws Exception {
    CountDownLatch listening = new CountDownLatch(1);
    POOL.submit(() -> answer(listening));
    listening.await();
    List<Future<?>> all = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      all.add(POOL.submit(this::call));
    }
    long made = 0;
    for (Future<?> each : all) {
      made += (Long) each.get();
    }
    System.out.printf(
        "%s: %d calls, %d unanswered, %d of them answered after stop and start%n",
        name, made, made - answered.get(), revived.get());
  }

  private Void answer(CountDownLatch listening) throws JMSException {
    Connection connection = factory.createConnection("guest", "guest");
    Session session = connection.createSession(false, Session.DUPS_OK_ACKNOWLEDGE);
    MessageConsumer requests = session.createConsumer(session.createQueue(QUEUE));
    connection.start();
    listening.countDown();
    while (true) {
      Message request = requests.receive();
      try (MessageProducer sender = session.createProducer(request.getJMSReplyTo())) {
        sender.send(session.createBytesMessage());
      } catch (JMSException e) {
        System.err.println("cannot answer: " + e.getMessage());
      }
    }
  }

  private long call() throws Exception {
    long made = 0;
    while (System.nanoTime() < end && begun.incrementAndGet() <= calls) {
      Connection connection = factory.createConnection("guest", "guest");
      try {
        exchange(connection, started(connection));
        made++;
      } finally {
        connection.close();
      }
    }
    return made;
  }

  private void exchange(Connection connection, Session session) throws JMSException {
    TemporaryQueue queue = session.createTemporaryQueue();
    MessageConsumer receiver = session.createConsumer(queue);
    Message request = session.createBytesMessage();
    request.setJMSReplyTo(queue);
    session.createProducer(session.createQueue(QUEUE)).send(request);
    if (receiver.receive(PATIENCE_MILLIS) != null) {
      answered.incrementAndGet();
      return;
    }
    connection.stop();
    connection.start();
    if (receiver.receive(PATIENCE_MILLIS) != null) {
      revived.incrementAndGet();
    }
  }

  /** Starts a connection and makes its session. */
  private Session started(Connection connection) throws Exception {
    if (order == Order.START_FIRST) {
      connection.start();
      return session(connection);
    }
    CountDownLatch isStarted = new CountDownLatch(1);
    CountDownLatch isMissed = order == Order.HELD ? held(connection, isStarted) : null;
    long began = System.nanoTime();
    Future<Session> session = POOL.submit(() -> session(connection));
    if (order == Order.SPREAD) {
      long mean = sessionNanos.get() / begun.get();
      long when = began + ThreadLocalRandom.current().nextLong(2 * mean + 1);
      while (System.nanoTime() < when && !session.isDone()) {
        Thread.onSpinWait();
      }
    } else if (isMissed != null) {
      isMissed.await();
    }
    connection.start();
    isStarted.countDown();
    return session.get();
  }

  private Session session(Connection connection) throws JMSException {
    long began = System.nanoTime();
    Session session = connection.createSession(false, Session.DUPS_OK_ACKNOWLEDGE);
    sessionNanos.addAndGet(System.nanoTime() - began);
    return session;
  }

  /**
   * Holds the thread that makes a session between its two steps, which are its own: it has found the
   * connection stopped, and has not listed the session among those that a start wakes.
   */
  private static CountDownLatch held(Connection connection, CountDownLatch isStarted)
      throws ReflectiveOperationException {
    CountDownLatch isMissed = new CountDownLatch(1);
    Class<?> type = connection.getClass();
    while (!type.getSimpleName().equals("ConnectionImpl")) {
      type = type.getSuperclass();
    }
    Field sessions = type.getDeclaredField("sessionTable");
    sessions.setAccessible(true);
    sessions.set(
        connection,
        new Vector<Object>() {
          @Override
          public void addElement(Object session) {
            isMissed.countDown();
            try {
              isStarted.await();
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
            }
            super.addElement(session);
          }
        });
    return isMissed;
  }
}
