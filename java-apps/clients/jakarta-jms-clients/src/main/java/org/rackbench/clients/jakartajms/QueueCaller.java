package org.rackbench.clients.jakartajms;

import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.DeliveryMode;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import jakarta.jms.TemporaryQueue;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Part;
import org.rackbench.harness.api.Parts;
import org.rackbench.harness.api.Setting;
import org.rackbench.jakartajms.JakartaBroker;
import org.rackbench.jakartajms.QueueWorker;
import org.rackbench.workloads.program.BrokerAccount;

/**
 * One client thread's requests to one queue, and their replies on a temporary queue of its own. A
 * call sends all its requests and then waits for as many replies. A call that fails closes its
 * reply queue. Constants {@code persistence} (none, written, synced), {@code acknowledge} (auto,
 * client, dups-ok) and {@code pooled} (true, the default: the connection is opened before the first
 * call and kept; false: each call opens and closes its connection).
 */
abstract class QueueCaller implements Caller {

  private final Setting setting;
  private final RequestQueue queue;
  private final boolean pooled;
  private final int deliveryMode;
  private final int acknowledgeMode;
  private final Parts parts;
  private Connection connection;
  private Session session;
  private MessageProducer requests;
  private MessageConsumer replies;
  private TemporaryQueue replyQueue;
  private long requestBytes;
  private long responseBytes;

  QueueCaller(Setting setting, RequestQueue queue) {
    this.setting = setting;
    this.queue = queue;
    BrokerAccount.limitWaits(setting.callTimeout());
    this.pooled = setting.flag("pooled", true);
    this.parts = Parts.of(setting);
    this.deliveryMode =
        setting.isPersistent() ? DeliveryMode.PERSISTENT : DeliveryMode.NON_PERSISTENT;
    this.acknowledgeMode =
        JakartaBroker.acknowledgeMode(setting.word("acknowledge", "auto", "client", "dups-ok"));
  }

  /** Makes the input of a call. Not timed. */
  abstract void makeInput(long seq);

  /** Sends the requests of a call with {@link #send} and returns the number of replies due. */
  abstract int sendAll() throws JMSException, IOException;

  /**
   * Returns the number, from 0, of the current call's request that a reply with this correlation id
   * answers; -1 if the reply belongs to an earlier call.
   */
  abstract int awaited(String correlationId);

  /** Keeps the body of the reply to the request {@code number}. */
  abstract void take(int number, Message reply, byte[] body) throws JMSException, IOException;

  /** Makes the result of a call from all its replies. */
  void finish() {}

  /** Returns the message of a call that was not answered within {@code timeout}. */
  abstract String overdue(Duration timeout);

  /** Returns what is wrong with the answer, or null. */
  abstract String problem();

  @Override
  public final void prepare(long seq) throws Exception {
    if (pooled && connection == null) {
      reconnect();
    }
    requestBytes = 0;
    responseBytes = 0;
    parts.reset();
    makeInput(seq);
  }

  @Override
  public final void call() throws Exception {
    try {
      long end = System.nanoTime() + setting.callTimeout().toNanos();
      if (!pooled) {
        connect();
      }
      parts.begin(Part.SERIALISE);
      int awaited = sendAll();
      while (awaited > 0) {
        awaited -= receive(end) ? 1 : 0;
      }
      finish();
      parts.begin(Part.REST);
    } catch (JMSException | TimeoutException | IOException | RuntimeException e) {
      // The reply queue ends with the connection. So late replies reach nobody, and a worker drops
      // requests that it has not begun. The next prepare reconnects.
      disconnect();
      throw e;
    } finally {
      if (!pooled) {
        disconnect();
      }
    }
  }

  /** Returns a request with this body, to be sent with {@link #send}. */
  final BytesMessage request(byte[] body, String correlationId) throws JMSException {
    BytesMessage request = session.createBytesMessage();
    request.writeBytes(body);
    request.setJMSReplyTo(replyQueue);
    request.setJMSCorrelationID(correlationId);
    requestBytes += body.length;
    return request;
  }

  final void send(BytesMessage request) throws JMSException {
    parts.begin(Part.SEND);
    requests.send(request);
    parts.begin(Part.SERIALISE);
  }

  /** Takes one reply. Returns whether it belongs to this call. */
  private boolean receive(long end) throws JMSException, TimeoutException, IOException {
    long millis = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
    parts.begin(Part.WAIT);
    Message reply = millis > 0 ? replies.receive(millis) : null;
    if (reply == null) {
      throw new TimeoutException(overdue(setting.callTimeout()));
    }
    if (acknowledgeMode == Session.CLIENT_ACKNOWLEDGE) {
      reply.acknowledge(); // in other modes receiving includes it
    }
    parts.begin(Part.PARSE);
    int number = awaited(reply.getJMSCorrelationID());
    if (number < 0) {
      return false;
    }
    if (reply.propertyExists(QueueWorker.ERROR)) {
      throw new IOException("a worker refused: " + reply.getStringProperty(QueueWorker.ERROR));
    }
    BytesMessage message = (BytesMessage) reply;
    byte[] body = new byte[(int) message.getBodyLength()];
    message.readBytes(body);
    take(number, reply, body);
    responseBytes += body.length;
    return true;
  }

  @Override
  public final Answer verify() {
    return new Answer(problem(), requestBytes, responseBytes, Answer.UNKNOWN, Answer.UNKNOWN);
  }

  @Override
  public final Parts parts() {
    return parts;
  }

  @Override
  public final void close() {
    disconnect();
  }

  /**
   * Connects once. The constructor of a subclass calls it last, so that a trial without a broker
   * fails.
   */
  final void tryConnection() throws JMSException {
    connect();
    if (!pooled) {
      disconnect();
    }
  }

  private void connect() throws JMSException {
    connection = queue.factory().createConnection(queue.username(), queue.password());
    session = connection.createSession(false, acknowledgeMode);
    requests = session.createProducer(queue.queue());
    // No time to live: this host's clock would start it and another host's clock would end it.
    requests.setDeliveryMode(deliveryMode);
    replyQueue = session.createTemporaryQueue();
    replies = session.createConsumer(replyQueue);
    connection.start();
  }

  /** Connects, or else leaves no connection behind that lacks its session or reply queue. */
  private void reconnect() throws JMSException {
    try {
      connect();
    } catch (JMSException | RuntimeException e) {
      disconnect();
      throw e;
    }
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
