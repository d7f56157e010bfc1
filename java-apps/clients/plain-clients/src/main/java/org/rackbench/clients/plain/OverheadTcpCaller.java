package org.rackbench.clients.plain;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.workloads.reply.ReplyText;

/** One client thread's requests on a connection that is opened before the first of them. */
final class OverheadTcpCaller implements Caller {

  private static final int REQUEST = '?';
  private static final int LONGEST_REFUSAL = 1000;
  private static final int BUFFER_BYTES = 64 * 1024;

  private final InetSocketAddress server;
  private final int millis;
  private final byte[] expected;
  private final byte[] reply;
  private Socket socket;
  private OutputStream out;
  private DataInputStream in;

  OverheadTcpCaller(InetSocketAddress server, int replyBytes, Duration timeout) throws IOException {
    this.server = server;
    this.millis = Math.toIntExact(timeout.toMillis());
    this.expected = ReplyText.bytes(replyBytes);
    this.reply = new byte[replyBytes];
    connect();
  }

  private void connect() throws IOException {
    Socket fresh = new Socket();
    try {
      fresh.setTcpNoDelay(true);
      fresh.setSoTimeout(millis);
      fresh.connect(server, millis);
      out = fresh.getOutputStream();
      in = new DataInputStream(new BufferedInputStream(fresh.getInputStream(), BUFFER_BYTES));
      out.write(ByteBuffer.allocate(Integer.BYTES).putInt(expected.length).array());
    } catch (IOException | RuntimeException e) {
      fresh.close();
      throw e;
    }
    socket = fresh;
  }

  @Override
  public void prepare(long seq) throws IOException {
    if (socket.isClosed()) {
      connect();
    }
    reply[0] = 0;
    reply[reply.length - 1] = 0;
  }

  @Override
  public void call() throws IOException {
    try {
      out.write(REQUEST);
      int size = in.readInt();
      if (size != reply.length) {
        throw new IOException(unexpected(size));
      }
      in.readFully(reply);
    } catch (EOFException e) {
      socket.close();
      throw new IOException(server + " closed the connection within a reply", e);
    } catch (IOException e) {
      socket.close(); // the next prepare reconnects
      throw e;
    }
  }

  private String unexpected(int size) throws IOException {
    if (size < 0 && size >= -LONGEST_REFUSAL) {
      return "%s refused: %s"
          .formatted(server, new String(in.readNBytes(-size), StandardCharsets.UTF_8));
    }
    return "%s announced %d bytes, not %d".formatted(server, size, reply.length);
  }

  @Override
  public Answer verify() {
    return new Answer(
        ReplyText.problem(reply, expected), 1, reply.length, 0, Integer.BYTES /* its length */);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
