package org.rackbench.harness.trial;

import java.util.Arrays;

/**
 * Decides whether the times of warm-up calls have become steady, by an equivalence test: the median
 * of the last third of the calls so far against that of the third before. They are steady when the
 * interval of the ratio of the two medians lies within {@code 1 / (1 + steady)} and {@code 1 +
 * steady}, so <em>steady</em> never follows from too few calls: noise widens the interval.
 *
 * <p>The first interim analysis is after {@code least} calls of each thread, the next ones each
 * after 1.5 times as many, and the last after {@code most}. The interval extends 2.7 standard
 * errors to each side. If the times of calls are independent, one analysis is wrong in at most 0.35
 * % of the cases, and 14 of them (most = 200 times least) together in 5 %. SteadyRuleTest has a
 * series whose level changes by just {@code steady} at every analysis. If neighbouring calls are
 * correlated, the share is larger.
 *
 * <p>Sources: two one-sided tests, D. J. Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987) 657; the
 * standard error of a median by order statistics, J. W. McKean and R. M. Schrader, Commun. Stat.
 * Simul. 13 (1984) 751; the ratio of two medians on the log scale, R. M. Price and D. G. Bonett, J.
 * Stat. Comput. Simul. 72 (2002) 119.
 */
final class SteadyRule {

  /** Fewer calls give no estimate of a median's error. */
  static final int FEWEST = 15;

  private static final double ERRORS = 2.7;
  private static final double NORMAL_995 = 2.576;

  private SteadyRule() {}

  /** Returns the numbers of a thread's calls at which to analyse, up to {@code most}. */
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
