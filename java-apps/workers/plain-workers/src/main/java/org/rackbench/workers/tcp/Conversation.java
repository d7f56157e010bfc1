package org.rackbench.workers.tcp;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.rackbench.workloads.reply.ReplyText;

/**
 * The exchange with one client. Numbers are 4 bytes, big endian. The client sends the reply size m
 * once. Each later byte requests a reply: m, then m bytes. A server that refuses sends -n, then n
 * bytes of UTF-8 text, and closes.
 */
final class Conversation {

  private static final int DRAIN_MILLIS = 100;
  private static final int DRAIN_BYTES = 64 * 1024;

  private final Socket socket;
  private final long began = System.nanoTime();
  private volatile long lastMove = began;
  private volatile boolean silent = true;

  Conversation(Socket socket) {
    this.socket = socket;
  }

  void run() {
    try (socket) {
      socket.setTcpNoDelay(true);
      InputStream in = socket.getInputStream();
      int size = new DataInputStream(in).readInt();
      silent = false;
      lastMove = System.nanoTime();
      try {
        ReplyText.check(size, 1);
      } catch (IllegalArgumentException e) {
        refuse(e.getMessage());
        return;
      }
      OutputStream out = socket.getOutputStream();
      while (in.read() >= 0) {
        lastMove = System.nanoTime();
        // created for each request, as in the SOAP service
        out.write(frame(ReplyText.bytes(size)));
        lastMove = System.nanoTime();
      }
    } catch (IOException e) {
      // the client left, perhaps within a frame: nobody can read a message
    }
  }

  private static byte[] frame(byte[] reply) {
    return ByteBuffer.allocate(Integer.BYTES + reply.length)
        .putInt(reply.length)
        .put(reply)
        .array();
  }

  /** Sends the reason of a refusal and closes the connection. */
  void refuse(String reason) {
    byte[] text = reason.getBytes(StandardCharsets.UTF_8);
    System.out.println("refused " + socket.getRemoteSocketAddress() + ": " + reason);
    try (socket) {
      socket
          .getOutputStream()
          .write(
              ByteBuffer.allocate(Integer.BYTES + text.length)
                  .putInt(-text.length)
                  .put(text)
                  .array());
      socket.shutdownOutput();
      drain();
    } catch (IOException e) {
      // the client left before the refusal
    }
  }

  /**
   * Reads and drops the client's data for a short time: closing with unread bytes would reset the
   * connection and lose the refusal.
   */
  private void drain() throws IOException {
    InputStream in = socket.getInputStream();
    byte[] dropped = new byte[DRAIN_BYTES];
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(DRAIN_MILLIS);
    int left = DRAIN_BYTES;
    int read = 0;
    while (read >= 0 && left > 0) {
      // not for each read: a client that sends byte by byte would keep others from their refusal
      int millis = (int) TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
      if (millis <= 0) {
        return;
      }
      socket.setSoTimeout(millis);
      read = in.read(dropped, 0, left);
      left -= read;
    }
  }

  /** Returns whether the client has not yet sent its reply size. */
  boolean isSilent() {
    return silent;
  }

  /** Returns the time when the client connected, in nanoseconds of {@link System#nanoTime}. */
  long began() {
    return began;
  }

  void closeIfIdle(Duration bound) {
    if (System.nanoTime() - lastMove > bound.toNanos()) {
      close();
    }
  }

  void close() {
    try {
      socket.close();
    } catch (IOException e) {
      System.err.println("closing a client: " + e.getMessage());
    }
  }
}
