package org.rackbench.clients.axis.http;

import org.apache.axis.AxisEngine;
import org.apache.axis.client.Service;
import org.apache.axis.configuration.FileProvider;

/** Axis as a client over HTTP: as it comes, only that the bytes on the wire are counted. */
public final class AxisClient {

  private AxisClient() {}

  /**
   * A service whose calls count into the {@link WireBytes} set as their property of that name. Not
   * to be shared between threads: Axis 1.4 then throws ConcurrentModificationException at times.
   *
   * @param multiRefs Axis's default, true, sends each number as an element of its own, referred to
   *     by another: some 220 bytes and a multiple of that in heap for each
   * @param xsiTypes Axis's default, true, says the type of each element
   */
  public static Service service(boolean multiRefs, boolean xsiTypes) {
    Service service = service("client-config.wsdd");
    service.getEngine().setOption(AxisEngine.PROP_DOMULTIREFS, multiRefs);
    service.getEngine().setOption(AxisEngine.PROP_SEND_XSI, xsiTypes);
    return service;
  }

  /**
   * A service whose calls go over the {@link KeptConnection} set as their property of that name, by
   * Axis's own sender over Commons HttpClient. Multi-references are off.
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
