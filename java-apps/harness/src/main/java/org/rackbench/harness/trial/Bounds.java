package org.rackbench.harness.trial;

/**
 * How long the calls of a trial may take, in nanoseconds.
 *
 * @param loopNanos time for all calls; no call begins after it
 * @param graceNanos further time for what is then under way to end by itself
 * @param callNanos limit of one call. Clients give up a call at about this time, each as its
 *     protocol allows; a call that took longer is a {@code timeout} for all of them, however it
 *     ended
 */
record Bounds(long loopNanos, long graceNanos, long callNanos) {

  /** No bound that a trial could reach. */
  static final Bounds NONE = new Bounds(Long.MAX_VALUE / 4, 0, Long.MAX_VALUE);
}
