package org.rackbench.workloads.sorting;

import java.nio.ByteBuffer;

/** Integers in the body of a JMS BytesMessage: four bytes each, big-endian, nothing else. */
public final class IntBytes {

  private IntBytes() {}

  public static byte[] encode(int[] values) {
    byte[] bytes = new byte[Math.multiplyExact(values.length, Integer.BYTES)];
    ByteBuffer.wrap(bytes).asIntBuffer().put(values);
    return bytes;
  }

  /** Returns the integers of a body, whose length must be a multiple of four. */
  public static int[] decode(byte[] bytes) {
    if (bytes.length % Integer.BYTES != 0) {
      throw new IllegalArgumentException(
          "a body of %d bytes holds no whole number of integers".formatted(bytes.length));
    }
    int[] values = new int[bytes.length / Integer.BYTES];
    ByteBuffer.wrap(bytes).asIntBuffer().get(values);
    return values;
  }
}
