package org.rackbench.services;

import org.rackbench.workloads.sorting.InsertionSort;

/** The service {@code Sort}: RPC/encoded, as Axis 1.1 made it for the paper. */
public final class SortService {

  /**
   * Returns the values sorted by insertion; null, which SOAP can send for an array, counts as
   * empty.
   */
  public int[] sort(int[] values) {
    if (values == null) {
      return new int[0];
    }
    InsertionSort.sort(values);
    return values;
  }
}
