package org.rackbench.jakartajms;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jakarta.jms.BytesMessage;
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
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The requests that a worker accepts, and its replies. */
class QueueWorkerTest {

  private final List<String> done = new ArrayList<>();
  private final Session session = proxy(Session.class, this::session);
  private final ReplySender replies = new ReplySender(session);
  private boolean isGone;
  private boolean hasReplyQueue = true;
  private QueueWorker worker;

  @BeforeEach
  void makeWorker() {
    String line = "--name w1 --queues q --jndi-url file:///jndi --username u --password-file p";
    worker =
        QueueWorker.of(
            QueueWorker.arguments(line.split(" "), "--queues"),
            List.of(),
            body -> {
              done.add("work");
              return body;
            });
  }

  @Test
  void answersARequestAndThenAcknowledgesIt() {
    answer();
    answer();
    assertEquals(
        List.of("open", "work", "send", "acknowledge", "work", "send", "acknowledge"), done);
  }

  @Test
  void dropsTheRequestOfAClientThatIsGoneWithoutWorkingOnIt() {
    isGone = true;
    answer();
    assertEquals(List.of("acknowledge"), done);
  }

  @Test
  void worksOnlyOnceForAClientThatWentAfterItsFirstReply() {
    answer();
    isGone = true;
    done.clear();
    answer();
    assertEquals(List.of("work", "close", "acknowledge"), done);
    done.clear();
    answer();
    assertEquals(List.of("acknowledge"), done);
  }

  @Test
  void dropsARequestThatNamesNoReplyQueue() {
    hasReplyQueue = false;
    answer();
    assertEquals(List.of("acknowledge"), done);
  }

  private void answer() {
    worker.answer(session, replies, "q", proxy(BytesMessage.class, this::request));
  }

  private Object request(Object self, Method method, Object[] args) {
    return switch (method.getName()) {
      case "acknowledge" -> done.add("acknowledge") ? null : null;
      case "getJMSReplyTo" ->
          hasReplyQueue ? proxy(Queue.class, (queue, name, none) -> "replies") : null;
      case "getBodyLength" -> 4L;
      case "readBytes" -> 4;
      case "getJMSDeliveryMode" -> 1;
      default -> null;
    };
  }

  private Object session(Object self, Method method, Object[] args) throws JMSException {
    return switch (method.getName()) {
      case "getAcknowledgeMode" -> Session.CLIENT_ACKNOWLEDGE;
      case "createBytesMessage" -> proxy(BytesMessage.class, (reply, set, values) -> null);
      case "createProducer" -> {
        refuse();
        done.add("open");
        yield proxy(MessageProducer.class, this::producer);
      }
      default -> null;
    };
  }

  private Object producer(Object self, Method method, Object[] args) throws JMSException {
    if (method.getName().equals("send")) {
      refuse();
    }
    done.add(method.getName());
    return null;
  }

  private void refuse() throws JMSException {
    if (isGone) {
      throw new InvalidDestinationException("the queue is gone");
    }
  }

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
  }
}
