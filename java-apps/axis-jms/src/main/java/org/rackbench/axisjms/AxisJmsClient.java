package org.rackbench.axisjms;

import org.apache.axis.client.Service;
import org.apache.axis.configuration.FileProvider;

/** Axis as a client over JMS; the only change is that the bytes of answers are counted. */
public final class AxisJmsClient {

  private AxisJmsClient() {}

  /**
   * Returns a service of Axis. It must not be shared between threads, or Axis 1.4 sometimes throws
   * ConcurrentModificationException.
   */
  public static Service service() {
    return new Service(
        new FileProvider(AxisJmsClient.class.getResourceAsStream("client-config.wsdd")));
  }
}
