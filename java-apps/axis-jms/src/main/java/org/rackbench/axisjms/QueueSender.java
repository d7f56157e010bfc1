package org.rackbench.axisjms;

import java.util.HashMap;
import org.apache.axis.AxisFault;
import org.apache.axis.MessageContext;
import org.apache.axis.transport.jms.JMSSender;

/** Axis's JMS sender. Axis creates it by its name in client-config.wsdd. */
@SuppressWarnings("rawtypes") // as in Axis
public final class QueueSender extends JMSSender {

  private static final long serialVersionUID = 1;

  @Override
  public void invoke(MessageContext context) throws AxisFault {
    super.invoke(context);
    if (context.getProperty(QueueTransport.ANSWER_BYTES) instanceof QueueTransport transport
        && context.getResponseMessage() != null) {
      // only the length of an array: the answer is not parsed yet
      transport.answered(context.getResponseMessage().getContentLength());
    }
  }

  /** Axis calls this right after it has written the envelope. */
  @Override
  protected HashMap createApplicationProperties(MessageContext context) {
    if (context.getProperty(QueueTransport.ANSWER_BYTES) instanceof QueueTransport transport) {
      transport.written();
    }
    return super.createApplicationProperties(context);
  }
}
