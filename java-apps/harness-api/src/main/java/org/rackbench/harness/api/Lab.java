package org.rackbench.harness.api;

import java.util.List;

/**
 * The nodes that a client talks to, as {@code lab.json} on the client node names them. A value that
 * is missing in that file ends the trial as {@code failed}.
 */
public interface Lab {

  /**
   * Returns one value of each of the first {@code count} workers, in pool order.
   *
   * @param count number of workers, at least 1
   * @param key {@code name}, {@code address}, {@code axis_url} or another key of a worker
   */
  List<String> workers(int count, String key);

  /**
   * Returns one value of the broker.
   *
   * @param key {@code address}, {@code jndi_url} or another key of the broker
   */
  String broker(String key);
}
