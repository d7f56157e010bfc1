package org.rackbench.axisjms;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import javax.jms.InvalidDestinationException;
import javax.jms.JMSException;
import javax.jms.Queue;
import javax.jms.QueueConnection;
import javax.jms.QueueConnectionFactory;
import javax.jms.QueueSender;
import javax.jms.QueueSession;
import org.apache.axis.components.jms.JMSVendorAdapterFactory;
import org.junit.jupiter.api.Test;

/** Tests how Axis's listener sends its replies. */
class ReplyAdapterTest {

  private final List<String> done = new ArrayList<>();
  private boolean isGone;

  @Test
  void eachReplyHasASenderOfItsOwn() throws JMSException {
    QueueSender shared = shared();
    shared.send(queue("a"), null, 1, 4, 0);
    shared.send(queue("b"), null, 1, 4, 0);
    shared.close();
    assertEquals(
        List.of("sender null", "sender a", "send", "close", "sender b", "send", "close", "close"),
        done);
  }

  @Test
  void theSenderOfAReplyThatCannotBeSentIsClosedToo() throws JMSException {
    QueueSender shared = shared();
    isGone = true;
    assertThrows(InvalidDestinationException.class, () -> shared.send(queue("a"), null, 1, 4, 0));
    assertEquals(List.of("sender null", "sender a", "close"), done);
  }

  @Test
  void axisMakesItOnceItIsInstalled() {
    ReplyAdapter.install();
    assertInstanceOf(ReplyAdapter.class, JMSVendorAdapterFactory.getJMSVendorAdapter());
  }

  private QueueSender shared() throws JMSException {
    QueueSession session =
        Changed.proxy(QueueSession.class, (self, method, args) -> sender((Queue) args[0]));
    QueueConnection connection =
        Changed.proxy(QueueConnection.class, (self, method, args) -> session);
    QueueConnectionFactory factory =
        Changed.proxy(QueueConnectionFactory.class, (self, method, args) -> connection);
    return ReplyAdapter.over(factory)
        .createQueueConnection()
        .createQueueSession(false, 1)
        .createSender(null);
  }

  private QueueSender sender(Queue queue) throws JMSException {
    done.add("sender " + (queue == null ? null : queue.getQueueName()));
    return Changed.proxy(
        QueueSender.class,
        (self, method, args) -> {
          if (isGone && method.getName().equals("send")) {
            throw new InvalidDestinationException("the queue is gone");
          }
          done.add(method.getName());
          return null;
        });
  }

  private static Queue queue(String name) {
    return Changed.proxy(Queue.class, (self, method, args) -> name);
  }
}
