package org.rackbench.harness.runner;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Threads that do not keep the runner from ending. */
final class Daemons {

  private Daemons() {}

  /**
   * Returns a pool that starts such a thread for each task that finds none free.
   *
   * @param name of each thread
   */
  static ExecutorService pool(String name) {
    return Executors.newCachedThreadPool(
        task -> {
          Thread thread = new Thread(task, name);
          thread.setDaemon(true);
          return thread;
        });
  }
}
