package org.rackbench.harness.trial;

/** When calls are due, over all client threads of a trial together. */
interface Schedule {

  /** The intended time of a call that is due as soon as a thread is free. */
  long UNPLANNED = Long.MIN_VALUE;

  /** The closed loop: each thread sends its next request when its last one has returned. */
  Schedule CLOSED = () -> UNPLANNED;

  /**
   * Waits until the next call is due. Called between {@code prepare} and the call, by each thread
   * that is free.
   *
   * @return when the call was due, as of {@code System.nanoTime()}, or {@link #UNPLANNED}
   */
  long next() throws InterruptedException;
}
