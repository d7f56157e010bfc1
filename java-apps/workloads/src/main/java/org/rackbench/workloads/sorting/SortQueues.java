package org.rackbench.workloads.sorting;

/** Names that the sort worker and its client agree on. */
public final class SortQueues {

  /** Property of a request: the name of the worker that it is for. */
  public static final String WORKER = "worker";

  private SortQueues() {}

  /** JNDI name of the queue for the jobs of {@code servers} workers; all workers listen on it. */
  public static String pool(int servers) {
    return "sort.pool" + servers;
  }

  /**
   * Selector of one worker: what is for it, and what names no worker, so that nothing stays in the
   * queue. Who belongs to a pool is so the client's choice alone, and a worker more or less changes
   * nothing on the others. Without it a fast worker takes two parts of a job before a slow one has
   * asked for its first (seen with OpenMQ, even at a consumer flow limit of one).
   */
  public static String selector(String worker) {
    return "%s = '%s' OR %s IS NULL".formatted(WORKER, worker.replace("'", "''"), WORKER);
  }
}
