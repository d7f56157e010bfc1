package org.rackbench.clients.plain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Setting;
import org.rackbench.harness.trial.LabFile;
import org.rackbench.workers.tcp.TcpServer;
import org.rackbench.workloads.reply.ReplyText;

/** The client against the worker program itself. */
@Timeout(60)
class OverheadTcpTest {

  @TempDir Path directory;

  private Caller caller(int port, int replyBytes, Duration callTimeout) throws Exception {
    Path lab =
        Files.writeString(
            directory.resolve("lab.json"),
            "{\"schema\":1,\"workers\":[{\"address\":\"127.0.0.1\",\"tcp_port\":%d}]}"
                .formatted(port));
    OverheadTcp client = new OverheadTcp();
    Map<String, Object> factors = Map.of("protocol", "tcp", "reply_bytes", replyBytes);
    client.open(new Setting("t1", factors, Map.of(), 42, 2, 1, callTimeout, LabFile.read(lab)));
    return client.caller(0);
  }

  private static TcpServer serve() throws IOException {
    InetSocketAddress anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    TcpServer server = new TcpServer(anyPort, 4, Duration.ofSeconds(30));
    Thread thread =
        new Thread(
            () -> {
              try {
                server.run();
              } catch (IOException e) {
                throw new AssertionError(e);
              }
            });
    thread.start();
    return server;
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 20_000, ReplyText.MAXIMUM_BYTES})
  void getsWhatItAskedFor(int replyBytes) throws Exception {
    try (TcpServer server = serve();
        Caller caller = caller(server.port(), replyBytes, Duration.ofSeconds(30))) {
      for (int seq = 0; seq < 5; seq++) {
        caller.prepare(seq);
        caller.call();
        Answer answer = caller.verify();
        assertNull(answer.problem());
        assertEquals(1, answer.requestBytes());
        assertEquals(replyBytes, answer.responseBytes());
      }
    }
  }

  @Test
  void aSizeBeyondTheServersLimitIsSaidBeforeAnyCall() throws Exception {
    try (TcpServer server = serve()) {
      IllegalArgumentException e =
          assertThrows(
              IllegalArgumentException.class,
              () -> caller(server.port(), ReplyText.MAXIMUM_BYTES + 1, Duration.ofSeconds(30)));
      assertTrue(e.getMessage().contains("is not within 1 to 1048576"), e.getMessage());
    }
  }

  @Test
  void connectsAnewAfterALostConnection() throws Exception {
    try (ServerSocket server = new ServerSocket(0);
        Caller caller = caller(server.getLocalPort(), 2, Duration.ofSeconds(30))) {
      server.accept().close();
      caller.prepare(0);
      assertThrows(IOException.class, caller::call);
      caller.prepare(1);
      try (Socket peer = server.accept()) {
        peer.getOutputStream().write(new byte[] {0, 0, 0, 2, 'a', 'b'});
        caller.call();
        assertNull(caller.verify().problem());
      }
    }
  }

  @Test
  void aSilentServerIsATimeout() throws Exception {
    try (ServerSocket silent = new ServerSocket(0);
        Caller caller = caller(silent.getLocalPort(), 5, Duration.ofMillis(300))) {
      caller.prepare(0);
      assertThrows(SocketTimeoutException.class, caller::call);
    }
  }

  @Test
  void otherBytesAreWrong() throws Exception {
    try (ServerSocket other = new ServerSocket(0);
        Caller caller = caller(other.getLocalPort(), 2, Duration.ofSeconds(30));
        Socket peer = other.accept()) {
      peer.getOutputStream().write(new byte[] {0, 0, 0, 2, 'a', 'c'});
      caller.prepare(0);
      caller.call();
      assertEquals("byte 1 of the reply is not what was asked for", caller.verify().problem());
    }
  }
}
