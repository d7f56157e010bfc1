package org.rackbench.workloads.matrix;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.rackbench.workloads.data.CallData;

/** The square matrices of the attachments study (004, section 3.1): {@code float[n][n]}. */
public final class Matrices {

  private Matrices() {}

  /** Returns {@code n}; throws IllegalArgumentException for a size that clients may not use. */
  public static int checkedSize(int n) {
    if (n < 1 || n > MatrixBytes.MAXIMUM) {
      throw new IllegalArgumentException(
          "a matrix of %d² is not within 1² to %d²; correct the level 'matrix'"
              .formatted(n, MatrixBytes.MAXIMUM));
    }
    return n;
  }

  /**
   * Returns uniform numbers in [0, 1). This is our choice, as the paper does not describe its
   * numbers.
   *
   * @param n number of rows and of columns
   * @param seed seed of the trial
   * @param seq call within the trial; the same seed, seq and drawing give the same matrix
   * @param drawing of {@link CallData}
   */
  public static float[][] random(int n, long seed, long seq, int drawing) {
    SplittableRandom random = CallData.random(seed, seq, drawing);
    float[][] matrix = new float[n][n];
    for (float[] row : matrix) {
      for (int i = 0; i < n; i++) {
        row[i] = random.nextInt(1 << 24) / (float) (1 << 24);
      }
    }
    return matrix;
  }

  /** Compares an answer bit for bit and returns its fault, or null. */
  public static String problem(float[][] answer, float[][] expected) {
    if (answer == null) {
      return "the answer is not a matrix";
    }
    if (answer.length != expected.length) {
      return "the answer has %d rows, not %d".formatted(answer.length, expected.length);
    }
    for (int i = 0; i < expected.length; i++) {
      // floats are equal only with equal bits, except NaN, which does not occur
      if (!Arrays.equals(answer[i], expected[i])) {
        return "row %d of the answer is not what was sent".formatted(i);
      }
    }
    return null;
  }
}
