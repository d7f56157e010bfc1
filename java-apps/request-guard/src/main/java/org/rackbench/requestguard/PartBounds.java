package org.rackbench.requestguard;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Limits of the parts of a body, checked while its bytes pass. */
final class PartBounds {

  static final int MAXIMUM_PARTS = 100;
  static final int MAXIMUM_HEADER_BYTES = 16 * 1024;

  private static final int NOT_HERE = -1;

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
   * Returns what looks at the bytes of another body and finds no part in it. Such a body needs no
   * limits; but looking takes time, and the studies compare multipart bodies with others.
   */
  static PartBounds ofOnePart() {
    return new PartBounds(new byte[] {'\n'}); // which is in no line
  }

  /** Looks at the next bytes; throws IOException when they exceed a limit. */
  void see(byte[] bytes, int offset, int length) throws IOException {
    for (int i = offset; i < offset + length; i++) {
      if (inHeaders) {
        seeHeader(bytes[i]);
      } else if (bytes[i] == '\n') {
        matched = 0;
      } else if (matched != NOT_HERE) {
        seeLine(bytes[i]);
      }
    }
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
