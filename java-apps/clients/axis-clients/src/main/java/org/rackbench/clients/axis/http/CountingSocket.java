package org.rackbench.clients.axis.http;

import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketException;
import org.rackbench.harness.api.Part;
import org.rackbench.harness.api.Parts;

/**
 * The methods of a connected socket that Axis's HTTP senders use. They count the bytes and mark the
 * parts of the call: each write is sending, each read is waiting. Axis serialises after a write,
 * and parses after a read.
 */
final class CountingSocket extends Socket {

  private final Socket socket;
  private final InputStream in;
  private final OutputStream out;

  CountingSocket(Socket socket, WireBytes wire, Parts parts) throws IOException {
    this.socket = socket;
    this.in = new CountingInput(socket.getInputStream(), wire.response, parts);
    this.out = new CountingOutput(socket.getOutputStream(), wire.request, parts);
  }

  @Override
  public InputStream getInputStream() {
    return in;
  }

  @Override
  public OutputStream getOutputStream() {
    return out;
  }

  @Override
  public void setSoTimeout(int millis) throws SocketException {
    socket.setSoTimeout(millis);
  }

  @Override
  public int getSoTimeout() throws SocketException {
    return socket.getSoTimeout();
  }

  @Override
  public void setTcpNoDelay(boolean on) throws SocketException {
    socket.setTcpNoDelay(on);
  }

  @Override
  public boolean getTcpNoDelay() throws SocketException {
    return socket.getTcpNoDelay();
  }

  @Override
  public int getSendBufferSize() throws SocketException {
    return socket.getSendBufferSize();
  }

  @Override
  public int getReceiveBufferSize() throws SocketException {
    return socket.getReceiveBufferSize();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }

  private static final class CountingInput extends FilterInputStream {

    private final WireBytes.Direction direction;
    private final Parts parts;

    CountingInput(InputStream in, WireBytes.Direction direction, Parts parts) {
      super(in);
      this.direction = direction;
      this.parts = parts;
    }

    @Override
    public int read() throws IOException {
      parts.begin(Part.WAIT);
      int oneByte = in.read();
      parts.begin(Part.PARSE);
      if (oneByte >= 0) {
        direction.count(oneByte);
      }
      return oneByte;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      parts.begin(Part.WAIT);
      int read = in.read(bytes, offset, length);
      parts.begin(Part.PARSE);
      if (read > 0) {
        direction.count(bytes, offset, read);
      }
      return read;
    }
  }

  private static final class CountingOutput extends FilterOutputStream {

    private final WireBytes.Direction direction;
    private final Parts parts;

    CountingOutput(OutputStream out, WireBytes.Direction direction, Parts parts) {
      super(out);
      this.direction = direction;
      this.parts = parts;
    }

    @Override
    public void write(int oneByte) throws IOException {
      parts.begin(Part.SEND);
      out.write(oneByte);
      parts.begin(Part.SERIALISE);
      direction.count(oneByte);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      parts.begin(Part.SEND);
      out.write(bytes, offset, length);
      parts.begin(Part.SERIALISE);
      direction.count(bytes, offset, length);
    }
  }
}
