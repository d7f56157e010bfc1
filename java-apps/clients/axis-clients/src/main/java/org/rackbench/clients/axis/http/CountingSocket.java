package org.rackbench.clients.axis.http;

import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketException;

/**
 * Those methods of a connected socket that Axis's HTTP senders use; the bytes that pass are
 * counted.
 */
final class CountingSocket extends Socket {

  private final Socket socket;
  private final InputStream in;
  private final OutputStream out;

  CountingSocket(Socket socket, WireBytes wire) throws IOException {
    this.socket = socket;
    this.in = new CountingInput(socket.getInputStream(), wire.response);
    this.out = new CountingOutput(socket.getOutputStream(), wire.request);
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

    CountingInput(InputStream in, WireBytes.Direction direction) {
      super(in);
      this.direction = direction;
    }

    @Override
    public int read() throws IOException {
      int oneByte = in.read();
      if (oneByte >= 0) {
        direction.count(oneByte);
      }
      return oneByte;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      int read = in.read(bytes, offset, length);
      if (read > 0) {
        direction.count(bytes, offset, read);
      }
      return read;
    }
  }

  private static final class CountingOutput extends FilterOutputStream {

    private final WireBytes.Direction direction;

    CountingOutput(OutputStream out, WireBytes.Direction direction) {
      super(out);
      this.direction = direction;
    }

    @Override
    public void write(int oneByte) throws IOException {
      out.write(oneByte);
      direction.count(oneByte);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      out.write(bytes, offset, length);
      direction.count(bytes, offset, length);
    }
  }
}
