package org.rackbench.clients.plain;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;

/**
 * GETs on one HTTP/1.1 connection. It implements only the part of HTTP that the harness study
 * needs: the study would count the cost of an HTTP library as the bench's own.
 */
final class HttpCaller implements Caller {

  private static final byte[] EXPECTED = {'1'};
  private static final int LONGEST_RESPONSE = 8192;
  private static final int EMPTY_LINE = 0x0d0a0d0a;
  private static final int DECIMAL = 10;
  private static final byte[] LENGTH = "\ncontent-length:".getBytes(StandardCharsets.US_ASCII);

  private final InetSocketAddress server;
  private final int millis;
  private final byte[] request;
  private final byte[] response = new byte[LONGEST_RESPONSE];
  private Socket socket;
  private int received;
  private int headLength;

  HttpCaller(URI resource, Duration timeout) throws IOException {
    int port = resource.getPort() < 0 ? 80 : resource.getPort();
    server = new InetSocketAddress(resource.getHost(), port);
    millis = Math.toIntExact(timeout.toMillis());
    request =
        "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n"
            .formatted(resource.getPath(), resource.getAuthority())
            .getBytes(StandardCharsets.US_ASCII);
    connect();
  }

  private void connect() throws IOException {
    Socket fresh = new Socket();
    try {
      fresh.setTcpNoDelay(true);
      fresh.setSoTimeout(millis);
      fresh.connect(server, millis);
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
    received = 0;
    headLength = 0;
  }

  @Override
  public void call() throws IOException {
    try {
      socket.getOutputStream().write(request);
      readResponse(socket.getInputStream());
    } catch (IOException e) {
      socket.close(); // the next prepare reconnects
      throw e;
    }
  }

  private void readResponse(InputStream in) throws IOException {
    int lastFour = 0;
    int at = 0;
    while (lastFour != EMPTY_LINE) {
      if (at == received) {
        receive(in);
      }
      lastFour = lastFour << 8 | response[at++] & 0xff;
    }
    headLength = at;
    int end = headLength + contentLength();
    if (end > response.length) {
      throw new IOException("the response is longer than %d bytes".formatted(response.length));
    }
    while (received < end) {
      receive(in);
    }
  }

  private void receive(InputStream in) throws IOException {
    int read = in.read(response, received, response.length - received);
    if (read == 0) {
      throw new IOException(
          "the head of the response is longer than %d bytes".formatted(response.length));
    }
    if (read < 0) {
      throw new EOFException(server + " closed the connection within a response");
    }
    received += read;
  }

  private int contentLength() throws IOException {
    int matched = 0;
    for (int i = 0; i < headLength; i++) {
      byte lower = (byte) Character.toLowerCase(response[i]);
      matched = lower == LENGTH[matched] ? matched + 1 : lower == LENGTH[0] ? 1 : 0;
      if (matched == LENGTH.length) {
        return number(i + 1);
      }
    }
    throw new IOException("the response names no Content-Length");
  }

  private int number(int from) throws IOException {
    int at = from;
    while (response[at] == ' ') {
      at++;
    }
    int number = 0;
    for (; response[at] >= '0' && response[at] <= '9'; at++) {
      number = number * DECIMAL + response[at] - '0';
      if (number > LONGEST_RESPONSE) {
        throw new IOException("the response is longer than %d bytes".formatted(response.length));
      }
    }
    return number;
  }

  @Override
  public Answer verify() {
    byte[] body = Arrays.copyOfRange(response, headLength, received);
    String status = new String(response, 0, Math.min(headLength, 12), StandardCharsets.US_ASCII);
    String problem = null;
    if (!status.equals("HTTP/1.1 200")) {
      problem = "the status is '%s', not 200".formatted(status);
    } else if (!Arrays.equals(body, EXPECTED)) {
      problem = "the body of %d bytes is not the one byte expected".formatted(body.length);
    }
    return new Answer(problem, 0, body.length, request.length, headLength);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
