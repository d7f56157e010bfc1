package org.rackbench.harness.trial;

import java.util.Arrays;

/**
 * Whether the times of warm-up calls have become steady: an equivalence test of the median of the
 * last third of the calls so far against that of the third before it. They are steady when the
 * interval of the ratio of the two medians lies within {@code 1 / (1 + steady)} and {@code 1 +
 * steady}, so <em>steady</em> never follows from too few calls: noise widens the interval.
 *
 * <p>Interim analyses are made after {@code least} calls of each thread, then after half as many
 * again each time, at last after {@code most}. The interval reaches 2.7 standard errors to each
 * side, so one analysis is wrong in 0.35 % of the cases at most, and 14 of them (most = 200 times
 * least) together in 5 %, when times of calls are independent. SteadyRuleTest has a series whose
 * level changes by just {@code steady} at every analysis. Where neighbouring calls are alike the
 * share is larger.
 *
 * <p>Sources: two one-sided tests, D. J. Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987) 657; the
 * standard error of a median by order statistics, J. W. McKean and R. M. Schrader, Commun. Stat.
 * Simul. 13 (1984) 751; the ratio of two medians on the log scale, R. M. Price and D. G. Bonett, J.
 * Stat. Comput. Simul. 72 (2002) 119.
 */
final class SteadyRule {

  /** Fewer calls than these say nothing of a median's error. */
  static final int FEWEST = 15;

  private static final double ERRORS = 2.7;
  private static final double NORMAL_995 = 2.576;

  private SteadyRule() {}

  /** Returns after how many calls of a thread to analyse, ascending; the last is {@code most}. */
  static int[] looks(int least, int most) {
    int[] looks = new int[64]; // int overflows earlier
    int count = 0;
    for (long at = least; at < most; at = Math.max(at + 1, (at * 3 + 1) / 2)) {
      looks[count++] = (int) at;
    }
    looks[count++] = most;
    return Arrays.copyOf(looks, count);
  }

  /**
   * Decides from the nanoseconds of two thirds, which it sorts in place; only the first {@code
   * olderCount} and {@code newerCount} elements count.
   *
   * @param steady the relative change that must be excluded
   */
  static boolean isSteady(
      long[] older, int olderCount, long[] newer, int newerCount, double steady) {
    if (Math.min(olderCount, newerCount) < FEWEST) {
      return false;
    }
    Arrays.sort(older, 0, olderCount);
    Arrays.sort(newer, 0, newerCount);
    double change = logMedian(newer, newerCount) - logMedian(older, olderCount);
    double error = Math.hypot(logError(newer, newerCount), logError(older, olderCount));
    return Math.abs(change) + ERRORS * error < Math.log1p(steady);
  }

  private static double logMedian(long[] sorted, int count) {
    return (log(sorted[(count - 1) / 2]) + log(sorted[count / 2])) / 2;
  }

  /** Returns the standard error of the median's logarithm. */
  private static double logError(long[] sorted, int count) {
    int below = (int) ((count + 1) / 2.0 - NORMAL_995 * Math.sqrt(count) / 2);
    int rank = Math.max(1, below);
    return (log(sorted[count - rank]) - log(sorted[rank - 1])) / (2 * NORMAL_995);
  }

  private static double log(long nanos) {
    return Math.log(Math.max(1, nanos));
  }
}
