package org.rackbench.requestguard;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Limits of the parts of a body, checked while its bytes are read. */
final class PartBounds {

  static final int MAXIMUM_PARTS = 100;
  static final int MAXIMUM_HEADER_BYTES = 16 * 1024;

  private static final int NOT_HERE = -1;

  private static final VarHandle EIGHT =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long ONES = 0x0101010101010101L;
  private static final long HIGH_BITS = ONES << 7;
  private static final long LINE_FEEDS = ONES * '\n';

  private final byte[] marker;
  private int matched; // bytes of the marker in this line so far, NOT_HERE if it is another line
  private int parts;
  private int headerBytes;
  private boolean inHeaders;
  private boolean emptyLine;

  /** Limits of a multipart body. */
  PartBounds(String boundary) {
    this(("--" + boundary).getBytes(StandardCharsets.ISO_8859_1));
  }

  private PartBounds(byte[] marker) {
    this.marker = marker;
  }

  /**
   * Returns limits that scan another body and find no part in it. Such a body needs no limits. But
   * a scan takes time, and the studies compare multipart bodies with others.
   */
  static PartBounds ofOnePart() {
    return new PartBounds(new byte[] {'\n'}); // which no line contains
  }

  /** Checks the next bytes; throws IOException if they exceed a limit. */
  void see(byte[] bytes, int offset, int length) throws IOException {
    int end = offset + length;
    int i = offset;
    while (i < end) {
      if (inHeaders) {
        seeHeader(bytes[i]);
      } else if (matched == NOT_HERE) {
        i = lineFeed(bytes, i, end);
        matched = i < end ? 0 : NOT_HERE;
      } else if (bytes[i] == '\n') {
        matched = 0;
      } else {
        seeLine(bytes[i]);
      }
      i++;
    }
  }

  /**
   * Returns the place of the next line feed, or {@code end}. It scans nearly all bytes of a
   * request, within the time of its call, so it scans eight at a time.
   */
  private static int lineFeed(byte[] bytes, int from, int end) {
    int i = from;
    while (i <= end - Long.BYTES && !hasLineFeed((long) EIGHT.get(bytes, i))) {
      i += Long.BYTES;
    }
    while (i < end && bytes[i] != '\n') {
      i++;
    }
    return i;
  }

  /**
   * A line feed is a zero byte in the difference to line feeds; only such a byte borrows from a
   * higher bit.
   */
  private static boolean hasLineFeed(long eight) {
    long difference = eight ^ LINE_FEEDS;
    return ((difference - ONES) & ~difference & HIGH_BITS) != 0;
  }

  private void seeLine(byte next) throws IOException {
    if (next != marker[matched]) {
      matched = NOT_HERE;
    } else if (++matched == marker.length) {
      matched = NOT_HERE;
      inHeaders = true;
      emptyLine = false;
      headerBytes = 0;
      if (++parts > MAXIMUM_PARTS) {
        throw new IOException("the request has more than %d parts".formatted(MAXIMUM_PARTS));
      }
    }
  }

  private void seeHeader(byte next) throws IOException {
    if (++headerBytes > MAXIMUM_HEADER_BYTES) {
      throw new IOException(
          "a part has more than %d bytes of headers".formatted(MAXIMUM_HEADER_BYTES));
    }
    if (next == '\n') {
      inHeaders = !emptyLine;
      matched = emptyLine ? 0 : NOT_HERE;
      emptyLine = true;
    } else if (next != '\r') {
      emptyLine = false;
    }
  }
}
