package org.rackbench.workloads.sorting;

/** The work of the sort study: the same class behind SOAP and JMS. */
public final class InsertionSort {

  private InsertionSort() {}

  /**
   * Sorts in place by plain insertion, moving elements: about n²/4 moves for random input. Source:
   * Eggen and Sunku, "Efficiency of SOAP versus JMS" (insertion sort as the n² work).
   */
  public static void sort(int[] values) {
    for (int i = 1; i < values.length; i++) {
      int value = values[i];
      int j = i;
      while (j > 0 && values[j - 1] > value) {
        values[j] = values[j - 1];
        j--;
      }
      values[j] = value;
    }
  }
}
