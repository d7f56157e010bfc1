package org.rackbench.workloads.sorting;

import java.util.Arrays;
import org.rackbench.workloads.data.CallData;

/**
 * One job of the sort study: it splits random integers evenly over the servers and merges their
 * answers. Splitting and merging are part of the job and of its time.
 */
public final class SortJob {

  private final int[] input;
  private final int servers;

  /**
   * @param seed of the trial
   * @param seq of the call: each call of a trial sorts other data
   * @param drawing of {@link CallData}
   * @param integers how many; uniform over all 32-bit values
   * @param servers how many parts; sizes differ by one at most
   */
  public SortJob(long seed, long seq, int drawing, int integers, int servers) {
    if (servers < 1 || integers < servers) {
      throw new IllegalArgumentException(
          "%d integers cannot be split over %d servers".formatted(integers, servers));
    }
    // earlier versions numbered the first call 1 for this seed
    input = CallData.random(seed, seq + 1, drawing).ints(integers).toArray();
    this.servers = servers;
  }

  /** Splits the integers. */
  public int[][] split() {
    int[][] parts = new int[servers][];
    for (int k = 0; k < servers; k++) {
      parts[k] = Arrays.copyOfRange(input, from(k), from(k + 1));
    }
    return parts;
  }

  private int from(int part) {
    return (int) ((long) input.length * part / servers);
  }

  /**
   * Returns the fault of the answers, or null if they merge to the sorted input.
   *
   * @param merged the result of {@link #merge}
   */
  public String problem(int[][] answers, int[] merged) {
    for (int k = 0; k < servers; k++) {
      int length = from(k + 1) - from(k);
      if (answers[k] == null || answers[k].length != length) {
        return "part %d: %s integers came back for %d"
            .formatted(k, answers[k] == null ? "no" : answers[k].length, length);
      }
    }
    int[] sorted = input.clone();
    Arrays.sort(sorted);
    return Arrays.equals(merged, sorted) ? null : "the merged answer is not the sorted input";
  }

  /** Merges sorted parts of any length; null, which SOAP can send, counts as empty. */
  public static int[] merge(int[][] sortedParts) {
    int[] merged = new int[length(sortedParts)];
    int[] next = new int[sortedParts.length];
    for (int i = 0; i < merged.length; i++) {
      int least = -1;
      for (int k = 0; k < sortedParts.length; k++) {
        if (sortedParts[k] != null
            && next[k] < sortedParts[k].length
            && (least < 0 || sortedParts[k][next[k]] < sortedParts[least][next[least]])) {
          least = k;
        }
      }
      merged[i] = sortedParts[least][next[least]++];
    }
    return merged;
  }

  private static int length(int[][] parts) {
    int length = 0;
    for (int[] part : parts) {
      length += part == null ? 0 : part.length;
    }
    return length;
  }
}
