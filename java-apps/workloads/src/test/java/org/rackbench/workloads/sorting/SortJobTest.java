package org.rackbench.workloads.sorting;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SortJobTest {

  private static int[][] sorted(SortJob job) {
    int[][] answers = Arrays.stream(job.split()).map(int[]::clone).toArray(int[][]::new);
    Arrays.stream(answers).forEach(InsertionSort::sort);
    return answers;
  }

  private static String problem(SortJob job, int[][] answers) {
    return job.problem(answers, SortJob.merge(answers));
  }

  @ParameterizedTest
  @CsvSource({"500,1", "500,3", "5000,5", "7,5", "3,3"})
  void splitsEvenlyAndAcceptsTheSortedParts(int integers, int servers) {
    SortJob job = new SortJob(42, 0, 2, integers, servers);
    assertEquals(integers, Arrays.stream(job.split()).mapToInt(part -> part.length).sum());
    for (int[] part : job.split()) {
      assertTrue(Math.abs(part.length - integers / servers) <= 1);
    }
    assertNull(problem(job, sorted(job)));
  }

  @Test
  void refusesWrongAnswers() {
    SortJob job = new SortJob(42, 0, 2, 100, 3);
    int[][] answers = sorted(job);
    answers[1][0]++;
    assertEquals("the merged answer is not the sorted input", problem(job, answers));
    answers[1] = new int[3];
    assertEquals("part 1: 3 integers came back for 33", problem(job, answers));
    answers[1] = null;
    assertEquals("part 1: no integers came back for 33", problem(job, answers));
    assertTrue(problem(job, job.split()) != null, "unsorted parts");
  }

  @Test
  void mergesPartsOfAnyLength() {
    int[][] parts = {{2, 4}, null, {}, {1, 3, 3}};
    assertArrayEquals(new int[] {1, 2, 3, 3, 4}, SortJob.merge(parts));
  }

  @Test
  void dataComeFromSeedAndSeqAlone() {
    int[] data = new SortJob(42, 7, 2, 50, 1).split()[0];
    assertArrayEquals(data, new SortJob(42, 7, 2, 50, 1).split()[0]);
    assertFalse(Arrays.equals(data, new SortJob(42, 8, 2, 50, 1).split()[0]));
    assertFalse(Arrays.equals(data, new SortJob(43, 7, 2, 50, 1).split()[0]));
  }

  @Test
  void refusesMoreServersThanIntegers() {
    assertThrows(IllegalArgumentException.class, () -> new SortJob(1, 0, 2, 2, 3));
  }

  @Test
  void sortsByInsertion() {
    int[] values = {3, -1, Integer.MAX_VALUE, 3, Integer.MIN_VALUE, 0};
    InsertionSort.sort(values);
    assertArrayEquals(new int[] {Integer.MIN_VALUE, -1, 0, 3, 3, Integer.MAX_VALUE}, values);
  }

  @Test
  void integersAreFourBigEndianBytes() {
    byte[] bytes = IntBytes.encode(new int[] {1, -2});
    assertArrayEquals(new byte[] {0, 0, 0, 1, -1, -1, -1, -2}, bytes);
    assertArrayEquals(new int[] {1, -2}, IntBytes.decode(bytes));
    assertThrows(IllegalArgumentException.class, () -> IntBytes.decode(new byte[5]));
  }
}
