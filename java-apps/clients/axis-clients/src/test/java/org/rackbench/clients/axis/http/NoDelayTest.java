package org.rackbench.clients.axis.http;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import org.apache.axis.MessageContext;
import org.apache.axis.components.net.BooleanHolder;
import org.apache.axis.server.AxisServer;
import org.apache.axis.transport.http.SocketHolder;
import org.apache.commons.httpclient.HttpConnection;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rackbench.harness.api.Parts;

/** Both transports of Axis's clients send each write at once. */
class NoDelayTest {

  @AutoClose private ServerSocket server;

  @BeforeEach
  void listen() throws IOException {
    server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aSocketOfAxissOwnSenderDoesNotDelay(boolean isCounted) throws Exception {
    MessageContext context = new MessageContext(new AxisServer());
    if (isCounted) {
      context.setProperty(WireBytes.PROPERTY, new WireBytes());
      context.setProperty(CountingSender.PARTS, new Parts(false));
    }
    SocketHolder holder = new SocketHolder(null);
    String host = server.getInetAddress().getHostAddress();
    new CountingSender()
        .getSocket(
            holder,
            context,
            "http",
            host,
            server.getLocalPort(),
            5000,
            new StringBuffer(),
            new BooleanHolder(false));
    try (Socket socket = holder.getSocket()) {
      assertTrue(socket.getTcpNoDelay());
    }
  }

  @Test
  void aKeptConnectionDoesNotDelay() throws Exception {
    String url =
        "http://%s:%d/".formatted(server.getInetAddress().getHostAddress(), server.getLocalPort());
    try (KeptConnection kept = new KeptConnection(url, Duration.ofSeconds(5), new Parts(false))) {
      kept.open();
      Method socket = HttpConnection.class.getDeclaredMethod("getSocket");
      socket.setAccessible(true);
      HttpConnection connection = kept.getConnectionWithTimeout(null, 0);
      assertTrue(((Socket) socket.invoke(connection)).getTcpNoDelay());
    }
  }
}
