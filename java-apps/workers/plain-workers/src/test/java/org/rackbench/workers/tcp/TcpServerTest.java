package org.rackbench.workers.tcp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rackbench.workloads.reply.ReplyText;

@Timeout(60)
class TcpServerTest {

  private static final int CLIENTS = 3;

  private TcpServer server;
  private final List<Socket> sockets = new ArrayList<>();

  private void serve(Duration idle) throws IOException {
    server =
        new TcpServer(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), CLIENTS, idle);
    new Thread(
            () -> {
              try {
                server.run();
              } catch (IOException e) {
                throw new AssertionError(e);
              }
            })
        .start();
  }

  @AfterEach
  void stop() throws IOException {
    for (Socket socket : sockets) {
      socket.close();
    }
    if (server != null) {
      server.close();
    }
  }

  private Socket connect() throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port());
    socket.setSoTimeout(30_000);
    sockets.add(socket);
    return socket;
  }

  private static void say(Socket socket, int size, String requests) throws IOException {
    DataOutputStream out = new DataOutputStream(socket.getOutputStream());
    out.writeInt(size);
    out.writeBytes(requests);
  }

  private static byte[] reply(Socket socket) throws IOException {
    DataInputStream in = new DataInputStream(socket.getInputStream());
    return in.readNBytes(in.readInt());
  }

  private static String refusal(Socket socket) throws IOException {
    DataInputStream in = new DataInputStream(socket.getInputStream());
    String text = new String(in.readNBytes(-in.readInt()), StandardCharsets.UTF_8);
    assertEquals(-1, in.read());
    return text;
  }

  /** Status 3 would count as lack of memory. */
  @Test
  void aPortThatIsTakenEndsItWithAStatusOfItsOwn() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Process second =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-cp",
                  System.getProperty("java.class.path"),
                  TcpServer.class.getName(),
                  "--address",
                  taken.getInetAddress().getHostAddress(),
                  "--port",
                  Integer.toString(taken.getLocalPort()))
              .redirectErrorStream(true)
              .start();
      String said = new String(second.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertEquals(4, second.waitFor(), said);
      assertTrue(said.contains("cannot serve: "), said);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 1500, 20_000, ReplyText.MAXIMUM_BYTES})
  void answersEachByteWithAFrame(int size) throws IOException {
    serve(Duration.ofSeconds(30));
    Socket socket = connect();
    say(socket, size, "xyz");
    for (int i = 0; i < 3; i++) {
      assertArrayEquals(ReplyText.bytes(size), reply(socket));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1, Integer.MIN_VALUE, ReplyText.MAXIMUM_BYTES + 1, Integer.MAX_VALUE})
  void refusesASizeOutOfBoundsAndServesOthers(int size) throws IOException {
    serve(Duration.ofSeconds(30));
    Socket bad = connect();
    say(bad, size, "");
    assertTrue(refusal(bad).contains("a reply of " + size + " bytes is not within 1 to"));
    Socket good = connect();
    say(good, 5, "x");
    assertEquals("abcde", new String(reply(good), StandardCharsets.US_ASCII));
  }

  @Test
  void refusesOneClientTooManyAndTakesAnotherWhenOneHasLeft() throws Exception {
    serve(Duration.ofSeconds(30));
    for (int i = 0; i < CLIENTS; i++) {
      Socket socket = connect();
      say(socket, 1, "x");
      reply(socket);
    }
    assertEquals("3 clients are connected, the maximum; try again later", refusal(connect()));
    sockets.get(0).close();
    assertTrue(servedAgain());
  }

  @Test
  void aRefusedClientThatGoesOnSendingKeepsNobodyFromItsRefusal() throws Exception {
    serve(Duration.ofSeconds(30));
    for (int i = 0; i < CLIENTS; i++) {
      Socket socket = connect();
      say(socket, 1, "x");
      reply(socket);
    }
    Socket stubborn = connect();
    Thread sending = new Thread(() -> sendByteByByte(stubborn), "stubborn");
    sending.start();
    String refusal = "3 clients are connected, the maximum; try again later";
    assertEquals(refusal, refusal(connect()));
    stubborn.close();
    sending.join();
  }

  private static void sendByteByByte(Socket socket) {
    try {
      while (true) {
        socket.getOutputStream().write('x');
        Thread.sleep(10);
      }
    } catch (IOException | InterruptedException e) {
      // the server or the test has closed the connection
    }
  }

  @Test
  void aCrowdOfSilentClientsKeepsNobodyOut() throws Exception {
    serve(Duration.ofSeconds(30));
    Socket speaking = connect();
    say(speaking, 1, "x");
    reply(speaking);
    for (int i = 0; i < 200; i++) {
      connect();
    }
    Socket good = connect();
    say(good, 5, "x");
    assertEquals("abcde", new String(reply(good), StandardCharsets.US_ASCII));
    speaking.getOutputStream().write('y');
    assertEquals(1, reply(speaking).length);
  }

  private boolean servedAgain() throws Exception {
    for (int i = 0; i < 1000; i++) {
      Socket socket = connect();
      say(socket, 1, "x");
      if (new DataInputStream(socket.getInputStream()).readInt() == 1) {
        return true;
      }
      Thread.sleep(10);
    }
    return false;
  }

  @Test
  void aCutFrameHarmsNobody() throws IOException {
    serve(Duration.ofSeconds(30));
    Socket cut = connect();
    cut.getOutputStream().write(new byte[] {0, 0});
    cut.close();
    Socket good = connect();
    say(good, 2, "x");
    assertEquals(2, reply(good).length);
  }

  @Test
  void aSilentClientIsLeft() throws IOException {
    serve(Duration.ofMillis(300));
    assertEquals(-1, connect().getInputStream().read());
  }

  @Test
  void aClientThatTakesNoReplyIsLeft() throws Exception {
    serve(Duration.ofMillis(300));
    List<Socket> deaf = new ArrayList<>();
    for (int i = 0; i < CLIENTS; i++) {
      deaf.add(connect());
      say(deaf.get(i), ReplyText.MAXIMUM_BYTES, "x".repeat(50));
    }
    assertTrue(servedAgain());
  }
}
