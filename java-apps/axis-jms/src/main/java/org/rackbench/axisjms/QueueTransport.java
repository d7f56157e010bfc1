package org.rackbench.axisjms;

import java.util.HashMap;
import java.util.function.Consumer;
import javax.jms.JMSException;
import org.apache.axis.AxisEngine;
import org.apache.axis.AxisFault;
import org.apache.axis.MessageContext;
import org.apache.axis.client.Call;
import org.apache.axis.client.Transport;
import org.apache.axis.transport.jms.JMSConnectorManager;
import org.apache.axis.transport.jms.JMSConstants;

/**
 * Gives Axis's JMS sender the connection of one thread. Axis's own JMSTransport shares connections
 * between all threads and never closes one, so the levels of {@code pooled} would not differ.
 */
public final class QueueTransport extends Transport implements AutoCloseable {

  /** Bytes of the last answer's envelope. */
  static final String ANSWER_BYTES = "org.rackbench.answer-bytes";

  private final BrokerClient broker;
  private final int deliveryMode;
  private final long timeoutMillis;
  private final Consumer<Step> steps;
  private ClientConnector connector;
  private long answerBytes;

  /**
   * @param deliveryMode of {@link javax.jms.DeliveryMode}
   * @param timeoutMillis milliseconds after which Axis gives up a call
   * @param steps receives each step of an exchange, in the thread that is about to make it
   */
  public QueueTransport(
      BrokerClient broker, int deliveryMode, long timeoutMillis, Consumer<Step> steps) {
    this.broker = broker;
    this.steps = steps;
    this.deliveryMode = deliveryMode;
    this.timeoutMillis = timeoutMillis;
    transportName = "queue";
  }

  public boolean isOpen() {
    return connector != null;
  }

  /** Returns whether the connection is lost: it is no longer open, and nobody has closed it. */
  public boolean isLost() {
    return connector != null && connector.isLost();
  }

  /** Opens the connection. */
  public void open() throws JMSException {
    connector = broker.connect(timeoutMillis);
  }

  @Override
  public void setupMessageContextImpl(MessageContext context, Call call, AxisEngine engine)
      throws AxisFault {
    if (isLost()) {
      throw new AxisFault("the connection to the broker is lost");
    }
    try {
      JMSConnectorManager.getInstance().reserve(connector); // the sender releases it
    } catch (Exception e) {
      throw AxisFault.makeFault(e);
    }
    context.setProperty(JMSConstants.CONNECTOR, connector);
    context.setProperty(JMSConstants.DESTINATION, broker.queue());
    // empty, but Axis needs a map to put the next ones into
    context.setProperty(JMSConstants.JMS_APPLICATION_MSG_PROPS, new HashMap<>());
    context.setProperty(JMSConstants.DELIVERY_MODE, deliveryMode);
    // No time to live: the client's clock would start it and the broker's clock would end it.
    context.setProperty(JMSConstants.TIME_TO_LIVE, 0L);
    context.setProperty(ANSWER_BYTES, this);
  }

  /** Reports that the envelope of the request is written. */
  void written() {
    steps.accept(Step.ADMINISTER);
  }

  void answered(long bytes) {
    steps.accept(Step.READ); // Axis parses it next
    answerBytes = bytes;
  }

  public long answerBytes() {
    return answerBytes;
  }

  /** Closes the connection and waits until it is closed. */
  @Override
  public void close() {
    if (connector != null) {
      connector.close();
    }
    connector = null;
  }
}
