package org.rackbench.jakartajms;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jakarta.jms.InvalidDestinationException;
import jakarta.jms.JMSException;
import jakarta.jms.MessageProducer;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The producers that a worker keeps for its replies. */
class ReplySenderTest {

  private static final int CREDIT = 1000; // messages that OpenMQ lets a producer send unasked

  private final List<Made> producers = new ArrayList<>();
  private final ReplySender replies = new ReplySender(proxy(Session.class, this::session));
  private boolean isGone;

  @Test
  void aQueueThatIsRepliedToAgainHasOneProducer() throws JMSException {
    for (int i = 0; i < 100; i++) {
      reply("a");
      reply("b");
    }
    assertEquals(List.of(100, 100), producers.stream().map(made -> made.sent).toList());
  }

  @Test
  void noProducerSendsSoMuchThatItWouldHaveToAsk() throws JMSException {
    for (int i = 0; i < 3 * CREDIT; i++) {
      reply("a"); // of one client, or of several that got the same port one after the other
    }
    assertEquals(3 * CREDIT, producers.stream().mapToInt(made -> made.sent).sum());
    assertTrue(producers.stream().allMatch(made -> made.sent < CREDIT));
    assertTrue(open() <= 1);
  }

  @Test
  void producersOfQueuesThatAreNotRepliedToAnyMoreAreClosed() throws JMSException {
    for (int i = 0; i < 5000; i++) {
      reply("queue " + i);
      reply("kept");
    }
    assertTrue(open() <= 256);
    List<Made> kept = producers.stream().filter(made -> made.queue.equals("kept")).toList();
    assertEquals(5000 / 500, kept.size(), "a queue in use does not lose its producer to others");
  }

  @Test
  void whatIsRefusedCounts() throws JMSException {
    reply("a");
    isGone = true;
    for (int i = 1; i < CREDIT; i++) {
      assertThrows(InvalidDestinationException.class, () -> reply("a"));
    }
    assertTrue(producers.get(0).isClosed);
  }

  @Test
  void aQueueThatIsGoneDoesNotKeepOthersFromTheirReplies() throws JMSException {
    reply("a");
    isGone = true;
    assertThrows(InvalidDestinationException.class, () -> reply("gone"));
    isGone = false;
    reply("a");
    assertEquals(List.of(2), producers.stream().map(made -> made.sent).toList());
  }

  @Test
  void aQueueThatIsGoneIsKnownBeforeThereIsAReply() throws JMSException {
    isGone = true;
    assertThrows(InvalidDestinationException.class, () -> replies.open(queue("gone")));
    isGone = false;
    replies.open(queue("a"));
    reply("a");
    assertEquals(List.of(1), producers.stream().map(made -> made.sent).toList());
  }

  @Test
  void aQueueThatRefusedAReplyIsAskedForAnew() throws JMSException {
    reply("a");
    replies.open(queue("a"));
    isGone = true;
    assertThrows(InvalidDestinationException.class, () -> reply("a"));
    assertTrue(producers.get(0).isClosed);
    assertThrows(InvalidDestinationException.class, () -> replies.open(queue("a")));
  }

  private void reply(String queue) throws JMSException {
    replies.send(queue(queue), null, 1);
  }

  private static Queue queue(String name) {
    return proxy(Queue.class, (self, method, args) -> name);
  }

  private long open() {
    return producers.stream().filter(made -> !made.isClosed).count();
  }

  private Object session(Object self, Method method, Object[] args) throws JMSException {
    assertEquals("createProducer", method.getName());
    if (isGone) {
      throw new InvalidDestinationException("the queue is gone");
    }
    Made made = new Made(((Queue) args[0]).getQueueName());
    producers.add(made);
    return proxy(MessageProducer.class, made);
  }

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
  }

  private final class Made implements InvocationHandler {

    private final String queue;
    private int sent;
    private boolean isClosed;

    private Made(String queue) {
      this.queue = queue;
    }

    @Override
    public Object invoke(Object self, Method method, Object[] args) throws JMSException {
      if (method.getName().equals("close")) {
        isClosed = true;
      } else if (isGone) {
        throw new InvalidDestinationException("the queue is gone");
      } else {
        assertTrue(!isClosed);
        sent++;
      }
      return null;
    }
  }
}
