package org.rackbench.messaging;

/** Names that the sort worker and its client agree on. */
public final class SortQueues {

  /** Property of a request: which part of its job it is, from 0. */
  public static final String PART = "part";

  private SortQueues() {}

  /** JNDI name of the queue on which the first {@code servers} workers listen. */
  public static String pool(int servers) {
    return "sort.pool" + servers;
  }

  /**
   * Selector of the worker at place {@code index} (from 1) of a pool: part k goes to worker k + 1.
   * Without it a fast worker takes two parts of a job before a slow one has asked for its first
   * (seen with OpenMQ, even at a consumer flow limit of one). The first worker also takes what is
   * no part of any, so that nothing stays in the queue.
   */
  public static String selector(int servers, int index) {
    if (servers == 1) {
      return null;
    }
    return index > 1
        ? PART + " = " + (index - 1)
        : "%s IS NULL OR %s NOT BETWEEN 1 AND %d".formatted(PART, PART, servers - 1);
  }
}
