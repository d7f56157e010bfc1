package org.rackbench.clients.jaxws;

import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/** Counts the bytes of the two HTTP bodies of one call. Used by one thread at a time. */
final class BodyBytes {

  /** Name of the request context's property that holds them. */
  static final String PROPERTY = "org.rackbench.bodies";

  private long request;
  private long response;

  long request() {
    return request;
  }

  long response() {
    return response;
  }

  void reset() {
    request = 0;
    response = 0;
  }

  OutputStream counting(OutputStream out) {
    return new FilterOutputStream(out) {
      @Override
      public void write(int oneByte) throws IOException {
        out.write(oneByte);
        request++;
      }

      @Override
      public void write(byte[] bytes, int offset, int length) throws IOException {
        out.write(bytes, offset, length);
        request += length;
      }
    };
  }

  InputStream counting(InputStream in) {
    return new FilterInputStream(in) {
      @Override
      public int read() throws IOException {
        int oneByte = in.read();
        response += oneByte < 0 ? 0 : 1;
        return oneByte;
      }

      @Override
      public int read(byte[] bytes, int offset, int length) throws IOException {
        int read = in.read(bytes, offset, length);
        response += Math.max(0, read);
        return read;
      }

      @Override
      public long skip(long wanted) throws IOException {
        long skipped = in.skip(wanted);
        response += skipped;
        return skipped;
      }

      @Override
      public boolean markSupported() {
        return false; // what is read twice would count twice
      }
    };
  }
}
