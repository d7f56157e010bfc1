package org.rackbench.axisjms;

import org.apache.axis.client.Service;
import org.apache.axis.configuration.FileProvider;

/** Axis as a client over JMS, unchanged but for counting the bytes of answers. */
public final class AxisJmsClient {

  private AxisJmsClient() {}

  /**
   * Returns a service of Axis. It must not be shared between threads: Axis 1.4 then throws
   * ConcurrentModificationException at times.
   */
  public static Service service() {
    return new Service(
        new FileProvider(AxisJmsClient.class.getResourceAsStream("client-config.wsdd")));
  }
}
