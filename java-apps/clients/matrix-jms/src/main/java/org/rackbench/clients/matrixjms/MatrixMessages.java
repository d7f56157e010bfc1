package org.rackbench.clients.matrixjms;

import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.TemporaryQueue;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.naming.NamingException;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Setting;
import org.rackbench.matrix.Matrix;
import org.rackbench.matrix.MatrixBytes;
import org.rackbench.messaging.Broker;
import org.rackbench.messaging.QueueWorker;

/**
 * One client thread's matrices, each a message to the worker's queue and a reply on a temporary
 * queue. The call includes the way of the matrix into and out of its bytes.
 */
final class MatrixMessages implements Caller {

  private final Setting setting;
  private final Broker broker;
  private final String queue;
  private final int deliveryMode;
  private final int acknowledgeMode;
  private final int n;
  private Connection connection;
  private jakarta.jms.Session session;
  private MessageProducer requests;
  private MessageConsumer replies;
  private TemporaryQueue replyQueue;

  private String id;
  private float[][] matrix;
  private float[][] answer;
  private long requestBytes;
  private long responseBytes;

  MatrixMessages(Setting setting, Broker broker, String queue, int deliveryMode, String acknowledge)
      throws JMSException, NamingException, IOException {
    this.setting = setting;
    this.broker = broker;
    this.queue = queue;
    this.deliveryMode = deliveryMode;
    this.acknowledgeMode = Broker.acknowledgeMode(acknowledge);
    this.n = setting.integer("matrix");
    if (n < 1 || n > MatrixBytes.MAXIMUM) {
      throw new IllegalArgumentException(
          "a matrix of %d² is not within 1² to %d²; correct the level 'matrix'"
              .formatted(n, MatrixBytes.MAXIMUM));
    }
    connect();
  }

  @Override
  public void prepare(long seq) throws Exception {
    if (connection == null) {
      connect();
    }
    id = Long.toString(seq);
    answer = null;
    matrix = Matrix.random(n, setting.seed(), seq);
  }

  @Override
  public void call() throws Exception {
    try {
      long end = System.nanoTime() + setting.callTimeout().toNanos();
      send();
      while (!receive(end)) {
        continue;
      }
    } catch (JMSException e) {
      disconnect(); // the next prepare connects anew
      throw e;
    }
  }

  private void send() throws JMSException, IOException {
    byte[] body = MatrixBytes.encode(matrix);
    BytesMessage request = session.createBytesMessage();
    request.writeBytes(body);
    request.setJMSReplyTo(replyQueue);
    request.setJMSCorrelationID(id);
    requests.send(request);
    requestBytes = body.length;
  }

  /** Takes one reply; false when it belongs to an earlier call that was given up. */
  private boolean receive(long end) throws JMSException, TimeoutException, IOException {
    long millis = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
    Message reply = millis > 0 ? replies.receive(millis) : null;
    if (reply == null) {
      throw new TimeoutException(
          "no answer to %s within %s; look at the journal of rackbench-matrix-worker"
              .formatted(queue, setting.callTimeout()));
    }
    if (acknowledgeMode == jakarta.jms.Session.CLIENT_ACKNOWLEDGE) {
      reply.acknowledge();
    }
    if (!id.equals(reply.getJMSCorrelationID())) {
      return false;
    }
    if (reply.propertyExists(QueueWorker.ERROR)) {
      throw new IOException("the worker refused: " + reply.getStringProperty(QueueWorker.ERROR));
    }
    BytesMessage message = (BytesMessage) reply;
    byte[] body = new byte[(int) message.getBodyLength()];
    message.readBytes(body);
    answer = MatrixBytes.decode(body);
    responseBytes = body.length;
    return true;
  }

  @Override
  public Answer verify() {
    return new Answer(
        Matrix.problem(answer, matrix),
        requestBytes,
        responseBytes,
        Answer.UNKNOWN,
        Answer.UNKNOWN);
  }

  @Override
  public void close() {
    disconnect();
  }

  private void connect() throws JMSException, NamingException, IOException {
    connection = broker.connect();
    session = connection.createSession(false, acknowledgeMode);
    requests = session.createProducer(broker.queue(queue));
    requests.setDeliveryMode(deliveryMode);
    requests.setTimeToLive(
        setting.callTimeout().toMillis()); // a call given up ends on the broker too
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
