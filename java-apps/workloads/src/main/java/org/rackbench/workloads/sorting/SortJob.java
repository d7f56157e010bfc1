package org.rackbench.workloads.sorting;

import java.util.Arrays;
import java.util.SplittableRandom;

/** One job of the sort study: random integers, split evenly over the servers. */
public final class SortJob {

  private static final long GOLDEN_GAMMA = 0x9E3779B97F4A7C15L;

  private final int[] input;
  private final int[][] parts;

  /**
   * @param seed of the trial
   * @param seq of the call: each call of a trial sorts other data
   * @param integers how many; uniform over all 32-bit values
   * @param servers how many parts; sizes differ by one at most
   */
  public SortJob(long seed, long seq, int integers, int servers) {
    if (servers < 1 || integers < servers) {
      throw new IllegalArgumentException(
          "%d integers cannot be split over %d servers".formatted(integers, servers));
    }
    input = new SplittableRandom(seed + (seq + 1) * GOLDEN_GAMMA).ints(integers).toArray();
    parts = new int[servers][];
    for (int k = 0; k < servers; k++) {
      int from = (int) ((long) integers * k / servers);
      int to = (int) ((long) integers * (k + 1) / servers);
      parts[k] = Arrays.copyOfRange(input, from, to);
    }
  }

  public int[][] parts() {
    return parts;
  }

  /** Returns what is wrong with the answers, or null when they merge to the sorted input. */
  public String problem(int[][] answers) {
    for (int k = 0; k < parts.length; k++) {
      if (answers[k] == null || answers[k].length != parts[k].length) {
        return "part %d: %s integers came back for %d"
            .formatted(k, answers[k] == null ? "no" : answers[k].length, parts[k].length);
      }
    }
    int[] sorted = input.clone();
    Arrays.sort(sorted);
    return Arrays.equals(merge(answers), sorted)
        ? null
        : "the merged answer is not the sorted input";
  }

  private int[] merge(int[][] sortedParts) {
    int[] merged = new int[input.length];
    int[] next = new int[sortedParts.length];
    for (int i = 0; i < merged.length; i++) {
      int least = -1;
      for (int k = 0; k < sortedParts.length; k++) {
        if (next[k] < sortedParts[k].length
            && (least < 0 || sortedParts[k][next[k]] < sortedParts[least][next[least]])) {
          least = k;
        }
      }
      merged[i] = sortedParts[least][next[least]++];
    }
    return merged;
  }
}
