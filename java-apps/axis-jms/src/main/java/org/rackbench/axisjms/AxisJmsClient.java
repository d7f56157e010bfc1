package org.rackbench.axisjms;

import org.apache.axis.client.Service;
import org.apache.axis.configuration.FileProvider;

/** Axis as a client over JMS: as it comes, only that the bytes of answers are counted. */
public final class AxisJmsClient {

  private AxisJmsClient() {}

  /** Not to be shared between threads, see axis-http. */
  public static Service service() {
    return new Service(
        new FileProvider(AxisJmsClient.class.getResourceAsStream("client-config.wsdd")));
  }
}
