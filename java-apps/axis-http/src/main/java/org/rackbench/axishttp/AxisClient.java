package org.rackbench.axishttp;

import org.apache.axis.client.Service;
import org.apache.axis.configuration.FileProvider;

/** Axis as a client over HTTP: as it comes, only that the bytes on the wire are counted. */
public final class AxisClient {

  private AxisClient() {}

  /** A service whose calls count into the {@link WireBytes} set as their property of that name. */
  public static Service service() {
    return new Service(
        new FileProvider(AxisClient.class.getResourceAsStream("client-config.wsdd")));
  }
}
