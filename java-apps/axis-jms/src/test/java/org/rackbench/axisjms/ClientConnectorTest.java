package org.rackbench.axisjms;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.jms.ExceptionListener;
import javax.jms.JMSException;
import javax.jms.QueueConnectionFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The behaviour of a connection whose broker goes away. */
@Timeout(20)
class ClientConnectorTest {

  private final List<String> done = new CopyOnWriteArrayList<>();
  private String failing = "";
  private ExceptionListener listener;

  private final BrokerClient broker =
      new BrokerClient(proxy(QueueConnectionFactory.class), null, "bench", "secret");

  @Test
  void aLostConnectionIsKnownAndNotOpenedAgain() throws Exception {
    ClientConnector connector = broker.connect(1000);
    await("setExceptionListener");
    assertFalse(connector.isLost());
    listener.onException(new JMSException("the broker has gone"));
    assertTrue(connector.isLost());
    JMSException again =
        assertThrows(
            JMSException.class, () -> connector.internalConnect(broker.factory(), "bench", ""));
    assertEquals("the connection to the broker is lost", again.getMessage());
    connector.close();
    assertEquals(1, done.stream().filter("createQueueConnection"::equals).count(), done.toString());
  }

  @Test
  void aConnectionThatCannotBeClosedIsGivenUp() throws Exception {
    ClientConnector connector = broker.connect(1000);
    await("setExceptionListener");
    failing = "close";
    connector.close();
    assertTrue(done.contains("close"), done.toString());
  }

  @Test
  void aConnectionIsStartedBeforeItsSessionIsMade() throws Exception {
    ClientConnector connector = broker.connect(1000);
    await("createQueueSession");
    connector.close();
    // nothing between the two, because Axis's own thread may then create the session
    List<String> first = List.copyOf(done).subList(0, 2);
    assertEquals(List.of("createQueueConnection", "start"), first);
  }

  @Test
  void aConnectionThatCannotBeStartedIsClosed() {
    failing = "start";
    assertThrows(JMSException.class, () -> broker.connect(1000));
    assertEquals(List.of("createQueueConnection", "start", "close"), done);
  }

  @Test
  void aBrokerThatRefusesIsTriedOnce() {
    failing = "createQueueConnection";
    assertThrows(JMSException.class, () -> broker.connect(1000));
    assertEquals(List.of("createQueueConnection"), done);
  }

  /** Axis opens its sessions in a thread of its own. */
  private void await(String call) throws InterruptedException {
    while (!done.contains(call)) {
      Thread.sleep(5);
    }
  }

  private <T> T proxy(Class<T> type) {
    return Changed.proxy(type, (self, method, args) -> call(method, args));
  }

  private Object call(Method method, Object[] args) throws JMSException {
    done.add(method.getName());
    if (method.getName().equals(failing)) {
      throw new JMSException(failing + " refused");
    } else if (method.getName().equals("setExceptionListener")) {
      listener = (ExceptionListener) args[0];
    }
    Class<?> wanted = method.getReturnType();
    return wanted.isInterface() ? proxy(wanted) : null;
  }
}
