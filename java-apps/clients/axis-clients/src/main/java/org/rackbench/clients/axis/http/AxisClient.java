package org.rackbench.clients.axis.http;

import org.apache.axis.AxisEngine;
import org.apache.axis.client.Service;
import org.apache.axis.configuration.FileProvider;

/** Axis as a client over HTTP; the only change is that bytes on the wire are counted. */
public final class AxisClient {

  private AxisClient() {}

  /**
   * Returns a service whose calls count into the {@link WireBytes} set as their property of that
   * name. It must not be shared between threads, or Axis 1.4 sometimes throws
   * ConcurrentModificationException.
   *
   * @param multiRefs Axis's default is true: each number is an element of its own, which another
   *     element refers to. This takes about 220 bytes a number, and a multiple of that in the heap
   * @param xsiTypes Axis's default is true: each element names its type
   */
  public static Service service(boolean multiRefs, boolean xsiTypes) {
    Service service = service("client-config.wsdd");
    service.getEngine().setOption(AxisEngine.PROP_DOMULTIREFS, multiRefs);
    service.getEngine().setOption(AxisEngine.PROP_SEND_XSI, xsiTypes);
    return service;
  }

  /**
   * Returns a service whose calls use Axis's own sender over Commons HttpClient, on the {@link
   * KeptConnection} set as their property of that name. Multi-references are off.
   */
  public static Service keptService() {
    Service service = service("kept-config.wsdd");
    service.getEngine().setOption(AxisEngine.PROP_DOMULTIREFS, false);
    return service;
  }

  private static Service service(String configuration) {
    return new Service(new FileProvider(AxisClient.class.getResourceAsStream(configuration)));
  }
}
