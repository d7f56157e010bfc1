package org.rackbench.workloads.reply;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The reply of the overhead study (003, section 2.2): m bytes in p elements. The study leaves its
 * content open; a fixed content lets the client detect a wrong answer. Byte i is the letter number
 * i modulo 26, which takes one byte in XML too.
 */
public final class ReplyText {

  /** Longest reply in bytes that a server sends. */
  public static final int MAXIMUM_BYTES = 1024 * 1024;

  /** Most elements in a reply: in SOAP each is an XML element, many times its own bytes. */
  public static final int MAXIMUM_ELEMENTS = 10_000;

  private static final int LETTERS = 26;

  private ReplyText() {}

  /**
   * Returns a reply in one piece; throws IllegalArgumentException for a size out of 1..{@link
   * #MAXIMUM_BYTES}.
   */
  public static byte[] bytes(int size) {
    check(size, 1);
    byte[] bytes = new byte[size];
    int done = Math.min(LETTERS, size);
    for (int i = 0; i < done; i++) {
      bytes[i] = (byte) ('a' + i);
    }
    while (done < size) { // whole alphabets, so that a server spends its time on its protocol
      int copied = Math.min(done, size - done);
      System.arraycopy(bytes, 0, bytes, done, copied);
      done += copied;
    }
    return bytes;
  }

  /**
   * Returns a reply in {@code elements} pieces, the first of which are one byte longer if need be.
   * Throws IllegalArgumentException for a size out of bounds and for elements not in 1..size or
   * over {@link #MAXIMUM_ELEMENTS}.
   */
  public static String[] elements(int size, int elements) {
    check(size, elements);
    String text = new String(bytes(size), StandardCharsets.US_ASCII);
    String[] pieces = new String[elements];
    int from = 0;
    for (int i = 0; i < elements; i++) {
      int to = from + size / elements + (i < size % elements ? 1 : 0);
      pieces[i] = text.substring(from, to);
      from = to;
    }
    return pieces;
  }

  /** Returns the fault of a size and a number of elements. */
  public static void check(int size, int elements) {
    if (size < 1 || size > MAXIMUM_BYTES) {
      throw new IllegalArgumentException(
          "a reply of %d bytes is not within 1 to %d; ask for another size"
              .formatted(size, MAXIMUM_BYTES));
    }
    int most = Math.min(size, MAXIMUM_ELEMENTS);
    if (elements < 1 || elements > most) {
      throw new IllegalArgumentException(
          "%d elements of a reply of %d bytes are not within 1 to %d; ask for another number"
              .formatted(elements, size, most));
    }
  }

  /** Returns the fault of a reply in one piece, or null. */
  public static String problem(byte[] reply, byte[] expected) {
    int at = Arrays.mismatch(reply, expected);
    return at < 0 ? null : different(reply.length, expected.length, "byte", at);
  }

  /** Returns the fault of a reply in several pieces, or null. */
  public static String problem(String[] reply, String[] expected) {
    int at = Arrays.mismatch(reply, expected);
    return at < 0 ? null : different(reply.length, expected.length, "element", at);
  }

  private static String different(int found, int expected, String what, int at) {
    return found == expected
        ? "%s %d of the reply is not what was asked for".formatted(what, at)
        : "the reply has %d %ss, not %d".formatted(found, what, expected);
  }
}
