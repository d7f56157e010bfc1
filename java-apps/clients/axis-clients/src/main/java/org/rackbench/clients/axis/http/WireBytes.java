package org.rackbench.clients.axis.http;

import java.util.Locale;

/**
 * The bytes of one HTTP exchange as they pass the socket. The frames of chunked transfer count as
 * header, so that a body is as long as its message, however it is sent. Used by one thread at a
 * time.
 */
public final class WireBytes {

  /** Name of the {@code Call} property that holds the counter. */
  public static final String PROPERTY = "org.rackbench.wire-bytes";

  final Direction request = new Direction();
  final Direction response = new Direction();

  public long requestHeader() {
    return request.header;
  }

  public long requestBody() {
    return request.body;
  }

  public long responseHeader() {
    return response.header;
  }

  public long responseBody() {
    return response.body;
  }

  /** Sets the counts to zero; the head of a message comes next. */
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
   * Tells the head of a message, up to and including its empty line, and its chunk frames from the
   * body.
   */
  static final class Direction {

    private static final int HEXADECIMAL = 16;

    private Place place = Place.HEAD;
    private long header;
    private long body;
    private long chunkLeft;
    private boolean chunked;
    private final StringBuilder line = new StringBuilder();

    void reset() {
      place = Place.HEAD;
      header = 0;
      body = 0;
      chunked = false;
      line.setLength(0);
    }

    void count(byte[] bytes, int offset, int length) {
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
          headerByte(bytes[i++]);
        }
      }
    }

    void count(int oneByte) {
      count(new byte[] {(byte) oneByte}, 0, 1);
    }

    private void headerByte(byte oneByte) {
      header++;
      if (oneByte != '\n') {
        line.append((char) (oneByte & 0xff));
        return;
      }
      String text = line.toString().strip();
      line.setLength(0);
      switch (place) {
        case HEAD -> headLine(text);
        case CHUNK_SIZE -> chunkSize(text);
        case AFTER_CHUNK -> place = Place.CHUNK_SIZE;
        default -> {} // a trailer
      }
    }

    private void headLine(String text) {
      String lower = text.toLowerCase(Locale.ROOT);
      if (lower.startsWith("transfer-encoding:") && lower.endsWith("chunked")) {
        chunked = true;
      } else if (text.isEmpty()) {
        place = chunked ? Place.CHUNK_SIZE : Place.BODY;
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
