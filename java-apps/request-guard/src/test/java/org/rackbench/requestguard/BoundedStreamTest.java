package org.rackbench.requestguard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import javax.servlet.ReadListener;
import javax.servlet.ServletInputStream;
import org.junit.jupiter.api.Test;

class BoundedStreamTest {

  private static final int MAXIMUM_BYTES = 100_000;

  /** A body whose sender sends a piece each second, by a simulated clock. */
  private static final class Sender extends ServletInputStream {

    private final int piece;
    private int left;
    private long seconds;
    private IOException end;

    Sender(int length, int piece) {
      left = length;
      this.piece = piece;
    }

    @Override
    public int read() {
      throw new UnsupportedOperationException("read in pieces");
    }

    @Override
    public int read(byte[] buffer, int offset, int length) throws IOException {
      if (end != null) {
        throw end;
      }
      if (left == 0) {
        return -1;
      }
      seconds++;
      int count = Math.min(Math.min(piece, length), left);
      left -= count;
      return count;
    }

    long nanoTime() {
      return TimeUnit.SECONDS.toNanos(seconds);
    }

    @Override
    public boolean isFinished() {
      return left == 0;
    }

    @Override
    public boolean isReady() {
      return true;
    }

    @Override
    public void setReadListener(ReadListener listener) {
      throw new UnsupportedOperationException("read in pieces");
    }
  }

  private static BoundedStream bounded(Sender sender) {
    return new BoundedStream(sender, MAXIMUM_BYTES, PartBounds.ofOnePart(), sender::nanoTime);
  }

  @Test
  void whoSendsAByteNowAndThenIsLeft() {
    Sender sender = new Sender(MAXIMUM_BYTES, 1);
    BoundedStream stream = bounded(sender);
    assertThrows(IOException.class, stream::readAllBytes);
    long left = sender.seconds;
    assertTrue(left <= 10, "left after " + left + " s");
    stream.drain();
    assertEquals(left, sender.seconds);
  }

  @Test
  void whoSendsFastEnoughIsRead() throws IOException {
    assertEquals(MAXIMUM_BYTES, bounded(new Sender(MAXIMUM_BYTES, 2000)).readAllBytes().length);
  }

  @Test
  void whatIsTooLongIsRefusedAndReadToItsEnd() throws IOException {
    Sender sender = new Sender(10 * MAXIMUM_BYTES, 8192);
    BoundedStream stream = bounded(sender);
    assertThrows(IOException.class, stream::readAllBytes);
    stream.drain();
    assertTrue(sender.isFinished());
  }

  @Test
  void whoIsGoneIsNotWaitedForAgain() {
    Sender sender = new Sender(MAXIMUM_BYTES, 8192);
    sender.end = new IOException("gone");
    BoundedStream stream = bounded(sender);
    assertThrows(IOException.class, stream::readAllBytes);
    sender.end = null;
    stream.drain();
    assertEquals(MAXIMUM_BYTES, sender.left);
  }
}
