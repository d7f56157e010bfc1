package org.rackbench.clients.axis.http;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.time.Duration;
import org.apache.commons.httpclient.HostConfiguration;
import org.apache.commons.httpclient.HttpConnection;
import org.apache.commons.httpclient.HttpConnectionManager;
import org.apache.commons.httpclient.params.HttpConnectionManagerParams;
import org.apache.commons.httpclient.params.HttpConnectionParams;
import org.apache.commons.httpclient.protocol.Protocol;
import org.apache.commons.httpclient.protocol.ProtocolSocketFactory;
import org.rackbench.harness.api.Parts;

/**
 * One HTTP/1.1 connection of one thread to one server. It is opened explicitly, not by a call, and
 * kept from call to call. Its bytes are counted.
 */
public final class KeptConnection implements HttpConnectionManager, AutoCloseable {

  /** Name of the {@code Call} property that holds the connection. */
  public static final String PROPERTY = "org.rackbench.kept-connection";

  private final WireBytes wire = new WireBytes();
  private final Parts parts;
  private final HttpConnection connection;
  private HttpConnectionManagerParams parameters = new HttpConnectionManagerParams();

  /**
   * @param url address of the service
   * @param timeout for connecting and for each read
   * @param parts marked at each write and read
   */
  public KeptConnection(String url, Duration timeout, Parts parts) {
    this.parts = parts;
    URI uri = URI.create(url);
    int port = uri.getPort() < 0 ? 80 : uri.getPort();
    Protocol protocol = new Protocol("http", new CountingFactory(), port);
    connection = new HttpConnection(uri.getHost(), port, protocol);
    int millis = Math.toIntExact(timeout.toMillis());
    parameters.setConnectionTimeout(millis);
    parameters.setSoTimeout(millis);
    parameters.setTcpNoDelay(true);
    // HttpClient would check before each request whether the peer has closed: a read of 1 ms.
    parameters.setStaleCheckingEnabled(false);
    connection.getParams().setDefaults(parameters);
  }

  /** Opens the connection unless it is open, and resets the byte count. */
  public void open() throws IOException {
    wire.reset();
    if (!connection.isOpen()) {
      connection.open();
    }
  }

  /** Returns the bytes of one exchange, counted since {@link #open}. */
  public WireBytes wire() {
    return wire;
  }

  /** Returns the parts of one exchange. */
  public Parts parts() {
    return parts;
  }

  /**
   * Closes the connection. A failed call must close it, or the next call would read the rest of the
   * old answer.
   */
  @Override
  public void close() {
    connection.setLastResponseInputStream(null);
    connection.close();
  }

  /**
   * Reads the response to its end. Axis stops after the envelope, before the last frame of a
   * chunked response.
   */
  public void finish() throws IOException {
    InputStream response = connection.getLastResponseInputStream();
    if (response != null) {
      connection.setLastResponseInputStream(null);
      response.close(); // reads to its end
    }
  }

  @Override
  public HttpConnection getConnectionWithTimeout(HostConfiguration host, long millis) {
    connection.setHttpConnectionManager(this);
    return connection;
  }

  @Override
  public HttpConnection getConnection(HostConfiguration host) {
    return getConnectionWithTimeout(host, 0);
  }

  @Override
  @Deprecated
  public HttpConnection getConnection(HostConfiguration host, long millis) {
    return getConnectionWithTimeout(host, millis);
  }

  @Override
  public void releaseConnection(HttpConnection released) {
    // only one thread uses it
  }

  @Override
  public void closeIdleConnections(long millis) {
    // it stays open until close
  }

  @Override
  public HttpConnectionManagerParams getParams() {
    return parameters;
  }

  @Override
  public void setParams(HttpConnectionManagerParams params) {
    parameters = params;
  }

  private final class CountingFactory implements ProtocolSocketFactory {

    @Override
    public Socket createSocket(
        String host, int port, InetAddress from, int fromPort, HttpConnectionParams params)
        throws IOException {
      Socket socket = new Socket();
      try {
        socket.connect(new InetSocketAddress(host, port), params.getConnectionTimeout());
        return new CountingSocket(socket, wire, parts);
      } catch (IOException | RuntimeException e) {
        socket.close();
        throw e;
      }
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress from, int fromPort)
        throws IOException {
      return createSocket(host, port);
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
      return createSocket(host, port, null, 0, connection.getParams());
    }
  }
}
