package org.rackbench.workloads.data;

import java.util.SplittableRandom;

/**
 * The source of the random data of each call: the seed of the trial, the number of the call and the
 * drawing (method), which the plan names. All systems of a study draw alike, so the same call sends
 * the same data in each of them.
 */
public final class CallData {

  /**
   * The drawing of plans that name none. It steps the seed by SplittableRandom's own increment, so
   * the values of call k + 1 are those of call k, shifted by one. In effect, a trial has one data
   * set.
   */
  public static final int SHIFTED = 1;

  /** The drawing of new plans: the data of any two calls are independent. */
  public static final int INDEPENDENT = 2;

  private static final long STEP = 0x9e3779b97f4a7c15L;

  private CallData() {}

  /**
   * Returns a new source of the data of one call.
   *
   * @param seed of the trial
   * @param seq of the call
   * @param drawing {@link #SHIFTED} or {@link #INDEPENDENT}; throws IllegalArgumentException for
   *     another
   */
  public static SplittableRandom random(long seed, long seq, int drawing) {
    return new SplittableRandom(
        switch (drawing) {
          case SHIFTED -> seed + seq * STEP;
          case INDEPENDENT -> mixed(mixed(seed) + seq * STEP);
          default ->
              throw new IllegalArgumentException(
                  "drawing %d of the data is unknown; use the version that made the plan"
                      .formatted(drawing));
        });
  }

  /**
   * Mixes all bits by the finaliser of MurmurHash3 (Austin Appleby), which maps no two numbers to
   * the same one. SplittableRandom uses a different finaliser.
   */
  private static long mixed(long bits) {
    long mixed = (bits ^ bits >>> 33) * 0xff51afd7ed558ccdL;
    mixed = (mixed ^ mixed >>> 33) * 0xc4ceb9fe1a85ec53L;
    return mixed ^ mixed >>> 33;
  }
}
