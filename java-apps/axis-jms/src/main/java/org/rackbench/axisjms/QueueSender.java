package org.rackbench.axisjms;

import org.apache.axis.AxisFault;
import org.apache.axis.MessageContext;
import org.apache.axis.transport.jms.JMSSender;

/** Axis's JMS sender. Axis creates it by its name in client-config.wsdd. */
public final class QueueSender extends JMSSender {

  private static final long serialVersionUID = 1;

  @Override
  public void invoke(MessageContext context) throws AxisFault {
    super.invoke(context);
    if (context.getProperty(QueueTransport.ANSWER_BYTES) instanceof QueueTransport transport
        && context.getResponseMessage() != null) {
      // an array's length: the answer is not parsed yet
      transport.answered(context.getResponseMessage().getContentLength());
    }
  }
}
