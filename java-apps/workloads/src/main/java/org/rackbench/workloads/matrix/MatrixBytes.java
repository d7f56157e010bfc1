package org.rackbench.workloads.matrix;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InvalidClassException;
import java.io.ObjectInputFilter;
import java.io.ObjectInputFilter.Status;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;

/**
 * A matrix as a serialised object of 4n² + 10n + 41 bytes. With SOAP around it this gives the sizes
 * in Table 2 of 004.
 */
public final class MatrixBytes {

  /** Largest n that a reader accepts. */
  public static final int MAXIMUM = 5000;

  private static final int FLAT_BYTES = 41;
  private static final int ROW_BYTES = 10;
  private static final int DEPTH = 2;

  private MatrixBytes() {}

  /** Returns the number of bytes of a matrix of n² numbers. */
  public static long length(int n) {
    return (long) Float.BYTES * n * n + (long) ROW_BYTES * n + FLAT_BYTES;
  }

  public static byte[] encode(float[][] matrix) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(Math.toIntExact(length(matrix.length)));
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(matrix);
    }
    return bytes.toByteArray();
  }

  public static float[][] decode(byte[] bytes) throws IOException {
    return decode(new ByteArrayInputStream(bytes));
  }

  /** Reads a matrix and nothing else; throws IOException if the bytes are not a matrix. */
  public static float[][] decode(InputStream bytes) throws IOException {
    try (ObjectInputStream in = new ObjectInputStream(bytes)) {
      in.setObjectInputFilter(MatrixBytes::onlyMatrix);
      return (float[][]) in.readObject();
    } catch (ClassNotFoundException | ClassCastException | InvalidClassException e) {
      throw new IOException(
          "not a serialised float[n][n] with n up to %d: %s".formatted(MAXIMUM, e.getMessage()), e);
    }
  }

  /** Allows only matrices. Otherwise the sender of a serialised object could load any class. */
  private static Status onlyMatrix(ObjectInputFilter.FilterInfo info) {
    Class<?> type = info.serialClass();
    boolean matrix = type == null || type == float[][].class || type == float[].class;
    return matrix && info.arrayLength() <= MAXIMUM && info.depth() <= DEPTH
        ? Status.ALLOWED
        : Status.REJECTED;
  }
}
