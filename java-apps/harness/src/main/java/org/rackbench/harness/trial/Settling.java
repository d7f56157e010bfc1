package org.rackbench.harness.trial;

import java.util.concurrent.TimeUnit;

/**
 * Gives the threads time for uncounted calls after the nodes are sampled. A sample takes processors
 * and caches from the calls: on two cores the first five SOAP calls after it took 1.9 to 1.2 times
 * as long as those before.
 */
final class Settling implements Observer {

  private static final int MILLIS = 50;

  @Override
  public void before() {
    try {
      TimeUnit.MILLISECONDS.sleep(MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
