package org.rackbench.harness.trial;

/** Who is told when the measured phase of a trial begins and ends. */
interface Measured {

  /** All threads have ended their warm-up; none has begun to measure. */
  default void begins() {}

  /** All threads have made their measured calls; some may still be in a cooldown call. */
  default void ends() {}
}
