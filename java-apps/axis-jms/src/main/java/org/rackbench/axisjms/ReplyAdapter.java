package org.rackbench.axisjms;

import java.util.HashMap;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.Queue;
import javax.jms.QueueConnection;
import javax.jms.QueueConnectionFactory;
import javax.jms.QueueSender;
import javax.jms.QueueSession;
import org.apache.axis.components.jms.JMSVendorAdapter;
import org.apache.axis.components.jms.JNDIVendorAdapter;

/**
 * Gives each reply a sender of its own, so that Axis's listener forgets the queues that it has
 * replied to. Axis's clients create a queue for the answer of each call, and its listener sends to
 * all of them with one sender for each session. OpenMQ keeps the state of each queue for the
 * lifetime of such a sender, in the listener and in the broker: about 0.6 kB a queue in the broker.
 */
@SuppressWarnings({"rawtypes", "unchecked"}) // as in Axis
public final class ReplyAdapter extends JNDIVendorAdapter {

  /** Makes all listeners of this JVM use this adapter; Axis creates it by the name of its class. */
  public static void install() {
    System.setProperty(JMSVendorAdapter.class.getName(), ReplyAdapter.class.getName());
  }

  @Override
  public QueueConnectionFactory getQueueConnectionFactory(HashMap properties) throws Exception {
    return over(super.getQueueConnectionFactory(properties));
  }

  /** Returns a factory like {@code factory} whose senders keep no state of a queue. */
  static QueueConnectionFactory over(QueueConnectionFactory factory) {
    return Changed.over(
        QueueConnectionFactory.class, factory, QueueConnection.class, ReplyAdapter::over);
  }

  private static QueueConnection over(QueueConnection connection) {
    return Changed.over(QueueConnection.class, connection, QueueSession.class, ReplyAdapter::over);
  }

  private static QueueSession over(QueueSession session) {
    return Changed.over(
        QueueSession.class, session, QueueSender.class, sender -> over(session, sender));
  }

  private static QueueSender over(QueueSession session, QueueSender sender) {
    return Changed.proxy(
        QueueSender.class,
        (self, method, arguments) -> {
          if (method.getName().equals("send") && arguments.length == 5) {
            send(session, arguments);
            return null;
          }
          return Changed.call(sender, method, arguments);
        });
  }

  /** The one way in which Axis sends: queue, message, delivery mode, priority, time to live. */
  private static void send(QueueSession session, Object[] arguments) throws JMSException {
    try (QueueSender sender = session.createSender((Queue) arguments[0])) {
      sender.send(
          (Message) arguments[1], (int) arguments[2], (int) arguments[3], (long) arguments[4]);
    }
  }
}
