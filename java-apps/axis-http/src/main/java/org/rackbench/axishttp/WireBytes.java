package org.rackbench.axishttp;

/** Bytes of one HTTP exchange as they went over the socket. Used by one thread at a time. */
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

  /** Tells the head of a message, up to and with its empty line, from the body. */
  static final class Direction {

    private static final int EMPTY_LINE = 0x0d0a0d0a;

    private long header;
    private long body;
    private int lastFour;
    private boolean inBody;

    void count(byte[] bytes, int offset, int length) {
      int i = offset;
      while (!inBody && i < offset + length) {
        count(bytes[i++]);
      }
      body += offset + length - i;
    }

    void count(int oneByte) {
      if (inBody) {
        body++;
        return;
      }
      header++;
      lastFour = lastFour << 8 | oneByte & 0xff;
      inBody = lastFour == EMPTY_LINE;
    }
  }
}
