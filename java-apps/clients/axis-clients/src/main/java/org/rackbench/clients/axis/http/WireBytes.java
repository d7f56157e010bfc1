package org.rackbench.clients.axis.http;

import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * Counts the bytes of one HTTP exchange at the socket. The frames of chunked transfer count as
 * header, so a body is as long as its message, however it is sent. Used by one thread at a time.
 * The beginning of a message is kept and parsed on demand, after the timed call. Of a longer
 * message, only the head and the frames are parsed during the call.
 */
public final class WireBytes {

  /** Name of the {@code Call} property that holds the counter. */
  public static final String PROPERTY = "org.rackbench.wire-bytes";

  final Direction request = new Direction();
  final Direction response = new Direction();

  public long requestHeader() {
    return request.header();
  }

  public long requestBody() {
    return request.body();
  }

  public long responseHeader() {
    return response.header();
  }

  public long responseBody() {
    return response.body();
  }

  /** Resets the counts; the head of a message comes next. */
  public void reset() {
    request.reset();
    response.reset();
  }

  private enum Place {
    HEAD,
    BODY,
    CHUNK_SIZE,
    CHUNK,
    AFTER_CHUNK,
    TRAILER
  }

  /**
   * Separates the body from the head of a message, up to and including its empty line, and from the
   * chunk frames.
   */
  static final class Direction {

    private static final int HEXADECIMAL = 16;
    private static final int KEPT_BYTES = 1024;
    private static final int LONGEST_LINE = 64; // that describes a frame

    private final byte[] kept = new byte[KEPT_BYTES];
    private int keptLength;
    private boolean looked;

    private Place place = Place.HEAD;
    private long header;
    private long body;
    private long chunkLeft;
    private boolean chunked;
    private final byte[] line = new byte[LONGEST_LINE];
    private int lineLength;

    void reset() {
      keptLength = 0;
      looked = false;
      place = Place.HEAD;
      header = 0;
      body = 0;
      chunked = false;
      lineLength = 0;
    }

    long header() {
      look();
      return header;
    }

    long body() {
      look();
      return body;
    }

    void count(byte[] bytes, int offset, int length) {
      int keep = looked ? 0 : Math.min(length, KEPT_BYTES - keptLength);
      System.arraycopy(bytes, offset, kept, keptLength, keep);
      keptLength += keep;
      if (keep < length) {
        look();
        tellApart(bytes, offset + keep, length - keep);
      }
    }

    private void look() {
      if (!looked) {
        looked = true;
        tellApart(kept, 0, keptLength);
      }
    }

    private void tellApart(byte[] bytes, int offset, int length) {
      int i = offset;
      int end = offset + length;
      while (i < end) {
        if (place == Place.BODY) {
          body += end - i;
          return;
        } else if (place == Place.CHUNK) {
          long taken = Math.min(chunkLeft, end - i);
          body += taken;
          chunkLeft -= taken;
          i += (int) taken;
          place = chunkLeft == 0 ? Place.AFTER_CHUNK : Place.CHUNK;
        } else {
          i += headerBytes(bytes, i, end);
        }
      }
    }

    void count(int oneByte) {
      count(new byte[] {(byte) oneByte}, 0, 1);
    }

    /** Consumes the bytes to the end of a line, or all that are there, and returns their number. */
    private int headerBytes(byte[] bytes, int from, int end) {
      int at = from;
      while (at < end && bytes[at] != '\n') {
        at++;
      }
      int added = Math.min(at - from, LONGEST_LINE - lineLength);
      System.arraycopy(bytes, from, line, lineLength, added);
      lineLength += added;
      if (at < end) {
        at++;
        endLine();
      }
      header += at - from;
      return at - from;
    }

    private void endLine() {
      switch (place) {
        case HEAD -> headLine();
        case CHUNK_SIZE -> chunkSize(text());
        case AFTER_CHUNK -> place = Place.CHUNK_SIZE;
        default -> {} // a trailer
      }
      lineLength = 0;
    }

    private String text() {
      return new String(line, 0, lineLength, StandardCharsets.ISO_8859_1).strip();
    }

    private void headLine() {
      if (lineLength == 0 || line[0] == '\r') {
        place = chunked ? Place.CHUNK_SIZE : Place.BODY;
      } else if (line[0] == 'T' || line[0] == 't') {
        String lower = text().toLowerCase(Locale.ROOT);
        chunked |= lower.startsWith("transfer-encoding:") && lower.endsWith("chunked");
      }
    }

    private void chunkSize(String text) {
      int extension = text.indexOf(';');
      String digits = extension < 0 ? text : text.substring(0, extension);
      chunkLeft = Long.parseLong(digits.strip(), HEXADECIMAL);
      place = chunkLeft == 0 ? Place.TRAILER : Place.CHUNK;
    }
  }
}
