package org.rackbench.axisserver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.xml.namespace.QName;
import org.apache.axis.configuration.SimpleProvider;
import org.apache.axis.description.JavaServiceDesc;
import org.apache.axis.handlers.soap.SOAPService;
import org.apache.axis.server.AxisServer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class ConcurrentRpcProviderTest {

  /** A service of several operations, so that its inspection takes a while. */
  public static final class Service {
    public int one(int value) {
      return value;
    }

    public int two(int value) {
      return value;
    }

    public String three(String value) {
      return value;
    }
  }

  private static JavaServiceDesc described() throws Exception {
    SOAPService service = new SOAPService(new ConcurrentRpcProvider());
    service.setOption("className", Service.class.getName());
    service.setOption("allowedMethods", "one two three");
    service.getServiceDescription().setName("Service");
    SimpleProvider services = new SimpleProvider();
    services.deployService("Service", service);
    Descriptions.complete(new AxisServer(services));
    return (JavaServiceDesc) service.getServiceDescription();
  }

  /** The steps of Axis in every request. */
  private static int operationsSeenBy(JavaServiceDesc description, CyclicBarrier start)
      throws Exception {
    start.await();
    assertTrue(description.isInitialized());
    assertEquals(1, description.getOperationsByQName(new QName("three")).length);
    return description.getOperations().size();
  }

  @Test
  @Timeout(60)
  void twoFirstRequestsAtOnceBothSeeTheWholeService() throws Exception {
    ExecutorService requests = Executors.newFixedThreadPool(2);
    try {
      for (int i = 0; i < 500; i++) {
        JavaServiceDesc description = described();
        CyclicBarrier start = new CyclicBarrier(2);
        Future<Integer> other = requests.submit(() -> operationsSeenBy(description, start));
        assertEquals(3, requests.submit(() -> operationsSeenBy(description, start)).get());
        assertEquals(3, other.get());
      }
    } finally {
      requests.shutdownNow();
    }
  }
}
