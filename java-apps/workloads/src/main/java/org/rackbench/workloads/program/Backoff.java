package org.rackbench.workloads.program;

import java.util.concurrent.ThreadLocalRandom;

/**
 * Pauses between attempts to reach a broker. Each pause is up to twice as long as the one before,
 * up to 10 s. It is random within its upper half, so that the workers of a lab do not all reconnect
 * at the same moment.
 */
public final class Backoff {

  /** The longest pause, in milliseconds. */
  public static final long LONGEST_MILLIS = 10_000;

  private static final long FIRST_MILLIS = 200;

  private long longest = FIRST_MILLIS;

  /** Waits before the next attempt. */
  public void pause() throws InterruptedException {
    long millis = next();
    Thread.sleep(millis);
  }

  /** Returns the length of the next pause in milliseconds. */
  long next() {
    long millis = ThreadLocalRandom.current().nextLong(longest / 2, longest);
    longest = Math.min(2 * longest, LONGEST_MILLIS);
    return millis;
  }

  /** Makes the next pause as short as the first one, after an attempt that succeeded. */
  public void reset() {
    longest = FIRST_MILLIS;
  }
}
