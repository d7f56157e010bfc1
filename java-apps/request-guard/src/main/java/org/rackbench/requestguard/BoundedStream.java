package org.rackbench.requestguard;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import javax.servlet.ReadListener;
import javax.servlet.ServletInputStream;

/** The body of a request, with limits on its length, its parts and its speed. */
final class BoundedStream extends ServletInputStream {

  /** Bytes that are read of a refused body, so that the sender can read the refusal. */
  static final long MOST_DRAINED = 128L << 20;

  /** A sender that is slower than this after the grace time would block a thread for others. */
  private static final long BYTES_A_SECOND = 1024;

  private static final long GRACE_SECONDS = 5;

  private final ServletInputStream stream;
  private final long maximumBytes;
  private final PartBounds parts;
  private final LongSupplier nanoTime;
  private long bytes;
  private long waitedNanos;
  private boolean broken;

  /**
   * @param parts limits of the parts
   * @param nanoTime a clock that only goes forward
   */
  BoundedStream(
      ServletInputStream stream, long maximumBytes, PartBounds parts, LongSupplier nanoTime) {
    this.stream = stream;
    this.maximumBytes = maximumBytes;
    this.parts = parts;
    this.nanoTime = nanoTime;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] buffer, int offset, int length) throws IOException {
    int count = take(buffer, offset, length);
    if (count > 0) {
      check();
      parts.see(buffer, offset, count);
    }
    return count;
  }

  /** Reads the rest of a body, up to MOST_DRAINED and while it arrives fast enough. */
  void drain() {
    if (broken || isFinished()) {
      return;
    }
    byte[] buffer = new byte[8192];
    try {
      int count = 0;
      while (count >= 0 && bytes < MOST_DRAINED && !isSlow()) {
        count = take(buffer, 0, buffer.length);
      }
    } catch (IOException e) {
      // The sender is gone or silent, so nobody waits for the answer.
    }
  }

  private int take(byte[] buffer, int offset, int length) throws IOException {
    long began = nanoTime.getAsLong();
    broken = true;
    int count = stream.read(buffer, offset, length);
    broken = false;
    waitedNanos += nanoTime.getAsLong() - began;
    bytes += Math.max(0, count);
    return count;
  }

  private void check() throws IOException {
    if (bytes > maximumBytes) {
      throw new IOException(
          "the request is longer than the %d bytes that this heap allows".formatted(maximumBytes));
    }
    if (isSlow()) {
      throw new IOException(
          "the request arrives at less than %d bytes a second".formatted(BYTES_A_SECOND));
    }
  }

  private boolean isSlow() {
    long waited = TimeUnit.NANOSECONDS.toSeconds(waitedNanos);
    return waited > GRACE_SECONDS && bytes < waited * BYTES_A_SECOND;
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
