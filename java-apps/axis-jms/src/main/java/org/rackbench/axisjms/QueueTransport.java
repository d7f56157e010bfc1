package org.rackbench.axisjms;

import java.util.HashMap;
import org.apache.axis.AxisEngine;
import org.apache.axis.AxisFault;
import org.apache.axis.MessageContext;
import org.apache.axis.client.Call;
import org.apache.axis.client.Transport;
import org.apache.axis.transport.jms.JMSConnector;
import org.apache.axis.transport.jms.JMSConnectorManager;
import org.apache.axis.transport.jms.JMSConstants;

/**
 * Gives Axis's JMS sender the connection of one thread. Axis's own JMSTransport shares connections
 * between all threads and never closes one, so that the levels of the study would be alike.
 */
public final class QueueTransport extends Transport implements AutoCloseable {

  /** Bytes of the last answer's envelope. */
  static final String ANSWER_BYTES = "org.rackbench.answer-bytes";

  private final String queue;
  private final int deliveryMode;
  private final long timeToLive;
  private JMSConnector connector;
  private long answerBytes;

  /**
   * @param queue JNDI name
   * @param deliveryMode of {@link javax.jms.DeliveryMode}
   * @param timeToLive milliseconds after which the broker drops a request
   */
  public QueueTransport(String queue, int deliveryMode, long timeToLive) {
    this.queue = queue;
    this.deliveryMode = deliveryMode;
    this.timeToLive = timeToLive;
    transportName = "queue";
  }

  public boolean isOpen() {
    return connector != null;
  }

  public void open(AxisBroker broker, long timeoutMillis) throws Exception {
    connector = broker.connector(timeoutMillis);
  }

  @Override
  public void setupMessageContextImpl(MessageContext context, Call call, AxisEngine engine)
      throws AxisFault {
    try {
      JMSConnectorManager.getInstance().reserve(connector); // the sender releases it
    } catch (Exception e) {
      throw AxisFault.makeFault(e);
    }
    context.setProperty(JMSConstants.CONNECTOR, connector);
    context.setProperty(JMSConstants.DESTINATION, queue);
    // none, but Axis puts the next ones into what it finds here
    context.setProperty(JMSConstants.JMS_APPLICATION_MSG_PROPS, new HashMap<>());
    context.setProperty(JMSConstants.DELIVERY_MODE, deliveryMode);
    context.setProperty(JMSConstants.TIME_TO_LIVE, timeToLive);
    context.setProperty(ANSWER_BYTES, this);
  }

  void answered(long bytes) {
    answerBytes = bytes;
  }

  public long answerBytes() {
    return answerBytes;
  }

  /** Closes the connection; Axis does so in a thread of its own. */
  @Override
  public void close() {
    if (connector != null) {
      connector.stop();
      connector.shutdown();
    }
    connector = null;
  }
}
