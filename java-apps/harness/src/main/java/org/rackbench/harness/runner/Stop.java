package org.rackbench.harness.runner;

import java.util.concurrent.CountDownLatch;

/**
 * Treats SIGTERM and SIGINT as a request: the running trial ends, no other starts, the exit status
 * is 0.
 */
final class Stop {

  private final CountDownLatch ended = new CountDownLatch(1);
  private volatile boolean asked;
  private volatile int status;
  private volatile Runnable whenAsked = () -> {};

  Stop() {
    Runtime.getRuntime().addShutdownHook(new Thread(this::await, "stop"));
  }

  boolean asked() {
    return asked;
  }

  void whenAsked(Runnable action) {
    whenAsked = action;
  }

  /** Ends the process with {@code exitStatus}, even if a signal has begun to end it. */
  void exit(int exitStatus) {
    status = exitStatus;
    ended.countDown();
    System.exit(exitStatus);
  }

  private void await() {
    if (ended.getCount() > 0) {
      asked = true;
      whenAsked.run();
    }
    try {
      ended.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    Runtime.getRuntime().halt(status);
  }
}
