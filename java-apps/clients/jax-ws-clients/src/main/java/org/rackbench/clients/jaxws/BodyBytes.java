package org.rackbench.clients.jaxws;

import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.rackbench.harness.api.Part;
import org.rackbench.harness.api.Parts;

/**
 * Counts the bytes of the two HTTP bodies of one call, and marks its parts where JAX-WS writes and
 * reads them. Used by one thread at a time.
 */
final class BodyBytes {

  /** Name of the request context's property that holds this object. */
  static final String PROPERTY = "org.rackbench.bodies";

  private final Parts parts;
  private long request;
  private long response;

  BodyBytes(Parts parts) {
    this.parts = parts;
  }

  Parts parts() {
    return parts;
  }

  long request() {
    return request;
  }

  long response() {
    return response;
  }

  void reset() {
    request = 0;
    response = 0;
    parts.reset();
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
        parts.begin(Part.WAIT);
        int oneByte = in.read();
        parts.begin(Part.PARSE);
        response += oneByte < 0 ? 0 : 1;
        return oneByte;
      }

      @Override
      public int read(byte[] bytes, int offset, int length) throws IOException {
        parts.begin(Part.WAIT);
        int read = in.read(bytes, offset, length);
        parts.begin(Part.PARSE);
        response += Math.max(0, read);
        return read;
      }

      @Override
      public long skip(long wanted) throws IOException {
        parts.begin(Part.WAIT);
        long skipped = in.skip(wanted);
        parts.begin(Part.PARSE);
        response += skipped;
        return skipped;
      }

      @Override
      public boolean markSupported() {
        return false; // a second read would count the bytes twice
      }
    };
  }
}
