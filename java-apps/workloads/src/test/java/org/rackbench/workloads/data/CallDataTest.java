package org.rackbench.workloads.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.rackbench.workloads.data.CallData.INDEPENDENT;
import static org.rackbench.workloads.data.CallData.SHIFTED;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rackbench.workloads.matrix.Matrices;
import org.rackbench.workloads.sorting.SortJob;

class CallDataTest {

  private static final int INTEGERS = 500;
  private static final int CALLS = 400;
  private static final long GAMMA = 0x9e3779b97f4a7c15L; // SplittableRandom's own step

  /** Recorded from the version before drawings had numbers. */
  @Test
  void theFirstDrawingStaysAsItWas() {
    assertArrayEquals(
        new int[] {-1015872639, -1929329884, 1034875891, -370668994, 1646479942},
        new SortJob(42, 7, SHIFTED, 5, 1).split()[0]);
    assertArrayEquals(
        new float[][] {{0.6765622f, 0.44927222f}, {0.0029776096f, 0.68340987f}},
        Matrices.random(2, 42, 7, SHIFTED));
    byte[] payload = new byte[8];
    CallData.random(42, 7, SHIFTED).nextBytes(payload);
    assertArrayEquals(new byte[] {-92, 47, -98, -98, -18, 53, -10, -52}, payload);
  }

  /** Recorded with the first version of the drawing; later versions must draw the same. */
  @Test
  void theSecondDrawingStaysAsItIs() {
    assertArrayEquals(
        new int[] {-1044373108, 975317309, 79900307, 338757953, -1407027478},
        new SortJob(42, 7, INDEPENDENT, 5, 1).split()[0]);
    assertEquals(-4868824011953094420L, CallData.random(42, 7, INDEPENDENT).nextLong());
  }

  @Test
  void anUnknownDrawingIsRefused() {
    for (int unknown : new int[] {0, 3}) {
      IllegalArgumentException e =
          assertThrows(IllegalArgumentException.class, () -> CallData.random(1, 1, unknown));
      assertTrue(e.getMessage().contains("drawing %d".formatted(unknown)), e.getMessage());
    }
  }

  @Test
  void ofTheFirstDrawingEachCallShiftsTheLast() {
    int[] call = CallData.random(42, 7, SHIFTED).ints(INTEGERS).toArray();
    int[] next = CallData.random(42, 8, SHIFTED).ints(INTEGERS).toArray();
    assertArrayEquals(Arrays.copyOfRange(call, 1, INTEGERS), Arrays.copyOf(next, INTEGERS - 1));
  }

  /** Streams of calls that overlap anywhere would give some value twice. */
  @Test
  void noValueOfACallComesBackInAnother() {
    Set<Long> drawn = new HashSet<>();
    for (long seed : new long[] {0, 1, 42, 42 + GAMMA, 43, Long.MAX_VALUE}) {
      for (int seq = 0; seq < CALLS; seq++) {
        SplittableRandom random = CallData.random(seed, seq, INDEPENDENT);
        for (int i = 0; i < INTEGERS; i++) {
          assertTrue(drawn.add(random.nextLong()));
        }
      }
    }
  }

  /** The work of sorting varies between calls as between independent draws. */
  @ParameterizedTest
  @ValueSource(longs = {0, 42, 1L << 62})
  void theInversionsOfCallsScatterAsIndependentDrawsWould(long seed) {
    double[] inversions = inversions(seed, INDEPENDENT);
    double n = INTEGERS;
    double expected = n * (n - 1) / 4;
    double deviation = Math.sqrt(n * (n - 1) * (2 * n + 5) / 72);
    assertEquals(expected, mean(inversions), 4 * deviation / Math.sqrt(CALLS));
    assertEquals(deviation, Math.sqrt(variance(inversions)), 0.15 * deviation);
    assertEquals(2, neighbours(inversions), 0.4); // 2 for independent values, 0 for one value
    assertFalse(neighbours(inversions(seed, SHIFTED)) > 0.1, "the first drawing is another");
  }

  /** Returns the inversions in the integers of each call: the moves of its insertion sort. */
  private static double[] inversions(long seed, int drawing) {
    return LongStream.range(0, CALLS)
        .mapToDouble(seq -> inversions(new SortJob(seed, seq, drawing, INTEGERS, 1).split()[0]))
        .toArray();
  }

  private static int inversions(int[] values) {
    int inversions = 0;
    for (int i = 1; i < values.length; i++) {
      for (int j = 0; j < i; j++) {
        inversions += values[j] > values[i] ? 1 : 0;
      }
    }
    return inversions;
  }

  private static double mean(double[] values) {
    return Arrays.stream(values).average().orElseThrow();
  }

  private static double variance(double[] values) {
    double mean = mean(values);
    return Arrays.stream(values).map(value -> (value - mean) * (value - mean)).sum()
        / (values.length - 1);
  }

  /**
   * Returns von Neumann's ratio: the mean square of the neighbours' differences over the variance.
   */
  private static double neighbours(double[] values) {
    double sum = 0;
    for (int i = 1; i < values.length; i++) {
      sum += (values[i] - values[i - 1]) * (values[i] - values[i - 1]);
    }
    return sum / (values.length - 1) / variance(values);
  }
}
