package org.rackbench.workloads.sorting;

/** Names that the sort worker and its client share. */
public final class SortQueues {

  /** Property of a request: the name of the worker that it is for. */
  public static final String WORKER = "worker";

  private SortQueues() {}

  /**
   * Returns the JNDI name of the queue for the jobs of {@code servers} workers; all workers listen
   * on it.
   */
  public static String pool(int servers) {
    return "sort.pool" + servers;
  }

  /**
   * Returns the selector of one worker. It matches the messages for this worker and those that name
   * no worker, so that none stays in the queue. The client alone decides which workers form a pool,
   * so adding a worker changes nothing on the others. Without the selector a fast worker takes two
   * parts of a job before a slow one requests its first (seen with OpenMQ, even at a consumer flow
   * limit of one).
   */
  public static String selector(String worker) {
    return "%s = '%s' OR %s IS NULL".formatted(WORKER, worker.replace("'", "''"), WORKER);
  }
}
