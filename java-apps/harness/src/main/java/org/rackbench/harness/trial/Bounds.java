package org.rackbench.harness.trial;

/**
 * Limits of the time for the calls of a trial, in nanoseconds.
 *
 * @param loopNanos time for all calls; no call begins after it
 * @param graceNanos further time in which open calls may end by themselves
 * @param callNanos limit of one call. Clients give up a call at about this time, as their protocol
 *     allows; a call that took longer is a {@code timeout} in any case
 */
record Bounds(long loopNanos, long graceNanos, long callNanos) {

  /** Limits that no trial reaches. */
  static final Bounds NONE = new Bounds(Long.MAX_VALUE / 4, 0, Long.MAX_VALUE);
}
