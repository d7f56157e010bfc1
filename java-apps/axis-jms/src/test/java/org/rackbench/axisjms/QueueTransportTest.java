package org.rackbench.axisjms;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.reflect.Method;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.jms.DeliveryMode;
import javax.jms.Queue;
import javax.jms.QueueConnectionFactory;
import org.apache.axis.AxisFault;
import org.apache.axis.client.Call;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests how Axis sends a request over a given connection. */
@Timeout(20)
class QueueTransportTest {

  private static final int TIMEOUT_MILLIS = 1000;

  private final List<Object[]> sent = new CopyOnWriteArrayList<>();

  /** The client's clock would start it, and the broker's clock would end it. */
  @Test
  void aRequestHasNoTimeToLive() throws Exception {
    BrokerClient broker =
        new BrokerClient(proxy(QueueConnectionFactory.class), proxy(Queue.class), "bench", "");
    Call call = (Call) AxisJmsClient.service().createCall();
    try (QueueTransport transport =
        new QueueTransport(broker, DeliveryMode.PERSISTENT, TIMEOUT_MILLIS, step -> {})) {
      transport.open();
      call.setTransport(transport);
      call.setOperationName("hello");
      call.setTimeout(TIMEOUT_MILLIS);
      assertThrows(AxisFault.class, () -> call.invoke(new Object[0]), "nobody answers");
    }
    assertEquals(1, sent.size());
    assertEquals(DeliveryMode.PERSISTENT, sent.get(0)[2]);
    assertEquals(0L, sent.get(0)[4]);
  }

  private <T> T proxy(Class<T> type) {
    return Changed.proxy(type, (self, method, args) -> call(method, args));
  }

  private Object call(Method method, Object[] args) {
    if (method.getName().equals("send")) {
      sent.add(args);
    }
    Class<?> wanted = method.getReturnType();
    return wanted.isInterface() && !method.getName().equals("receive") ? proxy(wanted) : null;
  }
}
