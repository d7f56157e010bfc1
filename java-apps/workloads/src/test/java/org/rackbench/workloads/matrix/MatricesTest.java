package org.rackbench.workloads.matrix;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MatricesTest {

  @ParameterizedTest
  @ValueSource(ints = {1, 10, 50, 500})
  void isAsLongAsThePapersAndComesBackBitForBit(int n) throws IOException {
    float[][] matrix = Matrices.random(n, 42, 0, 2);
    byte[] bytes = MatrixBytes.encode(matrix);
    assertEquals(4 * n * n + 10 * n + 41, bytes.length);
    assertNull(Matrices.problem(MatrixBytes.decode(bytes), matrix));
  }

  @Test
  void dependsOnSeedAndCallAlone() {
    assertArrayEquals(Matrices.random(10, 1, 2, 2), Matrices.random(10, 1, 2, 2));
    assertFalse(Arrays.deepEquals(Matrices.random(10, 1, 2, 2), Matrices.random(10, 1, 3, 2)));
    assertFalse(Arrays.deepEquals(Matrices.random(10, 1, 2, 2), Matrices.random(10, 2, 2, 2)));
  }

  @Test
  void seesTheSmallestDifference() {
    float[][] matrix = Matrices.random(5, 1, 1, 2);
    float[][] other = Matrices.random(5, 1, 1, 2);
    other[3][4] = Math.nextUp(other[3][4]);
    assertEquals("row 3 of the answer is not what was sent", Matrices.problem(other, matrix));
    assertEquals(
        "the answer has 4 rows, not 5", Matrices.problem(Matrices.random(4, 1, 1, 2), matrix));
    assertEquals("the answer is not a matrix", Matrices.problem(null, matrix));
  }

  private static byte[] serialised(Object object) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(object);
    }
    return bytes.toByteArray();
  }

  @Test
  void readsNothingElse() throws IOException {
    for (Object other :
        new Object[] {
          "text", new ArrayList<>(), new float[3], new float[MatrixBytes.MAXIMUM + 1][0]
        }) {
      byte[] bytes = serialised(other);
      IOException e = assertThrows(IOException.class, () -> MatrixBytes.decode(bytes));
      assertTrue(e.getMessage().startsWith("not a serialised float[n][n]"), e.getMessage());
    }
    byte[] cut = Arrays.copyOf(MatrixBytes.encode(Matrices.random(5, 1, 1, 2)), 80);
    assertThrows(IOException.class, () -> MatrixBytes.decode(cut));
    assertThrows(IOException.class, () -> MatrixBytes.decode(new byte[0]));
  }
}
