package org.rackbench.clients.sortjms;

import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.TemporaryQueue;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.naming.NamingException;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Setting;
import org.rackbench.messaging.Broker;
import org.rackbench.messaging.QueueWorker;
import org.rackbench.messaging.SortQueues;
import org.rackbench.sorting.IntBytes;
import org.rackbench.sorting.SortJob;

/**
 * One client thread's jobs: N messages to the pool's queue, each for one of the pool's workers, and
 * N replies on a temporary queue.
 */
final class JmsJobs implements Caller {

  private final Setting setting;
  private final Broker broker;
  private final int deliveryMode;
  private final int acknowledgeMode;
  private final List<String> pool;
  private final int integers;
  private Connection connection;
  private jakarta.jms.Session session;
  private MessageProducer requests;
  private MessageConsumer replies;
  private TemporaryQueue replyQueue;

  private SortJob job;
  private long seq;
  private int[][] answers;
  private Set<String> workers;
  private long requestBytes;
  private long responseBytes;

  /**
   * @param pool names of the workers, in the order of the parts
   */
  JmsJobs(Setting setting, Broker broker, List<String> pool, int deliveryMode, String acknowledge)
      throws JMSException, NamingException, IOException {
    this.setting = setting;
    this.broker = broker;
    this.deliveryMode = deliveryMode;
    this.acknowledgeMode = Broker.acknowledgeMode(acknowledge);
    this.pool = pool;
    this.integers = setting.integer("integers");
    connect();
  }

  @Override
  public void prepare(long call) throws Exception {
    if (connection == null) {
      connect();
    }
    seq = call;
    job = new SortJob(setting.seed(), call, integers, pool.size());
    answers = new int[pool.size()][];
    workers = new HashSet<>();
    requestBytes = 0;
    responseBytes = 0;
  }

  @Override
  public void call() throws Exception {
    try {
      long end = System.nanoTime() + setting.callTimeout().toNanos();
      for (int part = 0; part < pool.size(); part++) {
        send(part);
      }
      for (int received = 0; received < pool.size(); ) {
        received += receive(end) ? 1 : 0;
      }
    } catch (JMSException e) {
      disconnect(); // the next prepare connects anew
      throw e;
    }
  }

  private void send(int part) throws JMSException {
    byte[] body = IntBytes.encode(job.parts()[part]);
    BytesMessage request = session.createBytesMessage();
    request.writeBytes(body);
    request.setJMSReplyTo(replyQueue);
    request.setStringProperty(SortQueues.WORKER, pool.get(part));
    request.setJMSCorrelationID(seq + "-" + part);
    requests.send(request);
    requestBytes += body.length;
  }

  /** Takes one reply; false when it belongs to an earlier job that was given up. */
  private boolean receive(long end) throws JMSException, TimeoutException, IOException {
    long millis = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
    Message reply = millis > 0 ? replies.receive(millis) : null;
    if (reply == null) {
      throw new TimeoutException(
          "%d of %d parts came back within %s"
              .formatted(workers.size(), pool.size(), setting.callTimeout()));
    }
    if (acknowledgeMode == jakarta.jms.Session.CLIENT_ACKNOWLEDGE) {
      reply.acknowledge();
    }
    String[] id = reply.getJMSCorrelationID().split("-");
    if (Long.parseLong(id[0]) != seq) {
      return false;
    }
    if (reply.propertyExists(QueueWorker.ERROR)) {
      throw new IOException("a worker refused: " + reply.getStringProperty(QueueWorker.ERROR));
    }
    BytesMessage sorted = (BytesMessage) reply;
    byte[] body = new byte[(int) sorted.getBodyLength()];
    sorted.readBytes(body);
    answers[Integer.parseInt(id[1])] = IntBytes.decode(body);
    workers.add(reply.getStringProperty(QueueWorker.WORKER));
    responseBytes += body.length;
    return true;
  }

  @Override
  public Answer verify() {
    String problem =
        workers.size() < pool.size()
            ? "%d parts were sorted by %s alone".formatted(pool.size(), workers)
            : job.problem(answers);
    return new Answer(problem, requestBytes, responseBytes, Answer.UNKNOWN, Answer.UNKNOWN);
  }

  @Override
  public void close() {
    disconnect();
  }

  private void connect() throws JMSException, NamingException, IOException {
    connection = broker.connect();
    session = connection.createSession(false, acknowledgeMode);
    requests = session.createProducer(broker.queue(SortQueues.pool(pool.size())));
    requests.setDeliveryMode(deliveryMode);
    requests.setTimeToLive(
        setting.callTimeout().toMillis()); // a job given up ends on the broker too
    replyQueue = session.createTemporaryQueue();
    replies = session.createConsumer(replyQueue);
    connection.start();
  }

  private void disconnect() {
    try {
      if (connection != null) {
        connection.close();
      }
    } catch (JMSException e) {
      System.err.println("closing the connection: " + e.getMessage());
    }
    connection = null;
  }
}
