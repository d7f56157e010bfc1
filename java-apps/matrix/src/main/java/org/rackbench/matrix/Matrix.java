package org.rackbench.matrix;

import java.util.Arrays;
import java.util.SplittableRandom;

/** The square matrices of the attachments study (004, section 3.1): {@code float[n][n]}. */
public final class Matrix {

  private static final long NEXT_CALL = 0x9e3779b97f4a7c15L;

  private Matrix() {}

  /**
   * Uniform numbers in [0, 1), our choice: the paper does not say which.
   *
   * @param seq call within the trial; the same seed and seq give the same matrix
   */
  public static float[][] random(int n, long seed, long seq) {
    SplittableRandom random = new SplittableRandom(seed + seq * NEXT_CALL);
    float[][] matrix = new float[n][n];
    for (float[] row : matrix) {
      for (int i = 0; i < n; i++) {
        row[i] = random.nextInt(1 << 24) / (float) (1 << 24);
      }
    }
    return matrix;
  }

  /** What is wrong with an answer, compared bit for bit, or null. */
  public static String problem(float[][] answer, float[][] expected) {
    if (answer == null) {
      return "the answer is no matrix";
    }
    if (answer.length != expected.length) {
      return "the answer has %d rows, not %d".formatted(answer.length, expected.length);
    }
    for (int i = 0; i < expected.length; i++) {
      // equal for floats only with equal bits, but for NaN, of which there is none
      if (!Arrays.equals(answer[i], expected[i])) {
        return "row %d of the answer is not what was sent".formatted(i);
      }
    }
    return null;
  }
}
