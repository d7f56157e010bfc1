package org.rackbench.requestguard;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import javax.servlet.ReadListener;
import javax.servlet.ServletInputStream;

/** A request's body, as far as it stays within bounds. */
final class BoundedStream extends ServletInputStream {

  /** Who is slower than this for longer than the grace holds a thread that others need. */
  private static final long BYTES_A_SECOND = 1024;

  private static final long GRACE_SECONDS = 5;

  private final ServletInputStream stream;
  private final long maximumBytes;
  private final PartBounds parts;
  private long bytes;
  private long waitedNanos;

  /**
   * @param parts what a multipart has to keep to, null for another body
   */
  BoundedStream(ServletInputStream stream, long maximumBytes, PartBounds parts) {
    this.stream = stream;
    this.maximumBytes = maximumBytes;
    this.parts = parts;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] buffer, int offset, int length) throws IOException {
    long began = System.nanoTime();
    int count = stream.read(buffer, offset, length);
    waitedNanos += System.nanoTime() - began;
    if (count > 0) {
      bytes += count;
      check();
      if (parts != null) {
        parts.see(buffer, offset, count);
      }
    }
    return count;
  }

  private void check() throws IOException {
    if (bytes > maximumBytes) {
      throw new IOException(
          "the request is longer than the %d bytes that this heap allows".formatted(maximumBytes));
    }
    long waited = TimeUnit.NANOSECONDS.toSeconds(waitedNanos);
    if (waited > GRACE_SECONDS && bytes < waited * BYTES_A_SECOND) {
      throw new IOException(
          "the request comes with less than %d bytes a second".formatted(BYTES_A_SECOND));
    }
  }

  @Override
  public boolean isFinished() {
    return stream.isFinished();
  }

  @Override
  public boolean isReady() {
    return stream.isReady();
  }

  @Override
  public void setReadListener(ReadListener listener) {
    stream.setReadListener(listener);
  }
}
