package org.rackbench.clients.plain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
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
import org.rackbench.tomcattesting.WarServer;

@Timeout(60)
class HttpTest {

  @TempDir Path directory;

  private Caller caller(String axisUrl, Duration callTimeout) throws Exception {
    Path lab =
        Files.writeString(
            directory.resolve("lab.json"),
            "{\"schema\":1,\"workers\":[{\"axis_url\":\"%s\"}]}".formatted(axisUrl));
    Http client = new Http();
    client.open(new Setting("t1", Map.of(), Map.of(), 42, 2, 1, callTimeout, LabFile.read(lab)));
    return client.caller(0);
  }

  /** From the WAR that the module services has built, in a real Tomcat. */
  @Test
  void getsItsByteAgainAndAgain() throws Exception {
    Path base = Files.createDirectory(directory.resolve("tomcat"));
    try (WarServer tomcat =
            new WarServer(base, "/axis", Path.of("../../services/target/axis.war"));
        Caller caller = caller(tomcat.url(), Duration.ofSeconds(30))) {
      for (int seq = 0; seq < 50; seq++) {
        caller.prepare(seq);
        caller.call();
        Answer answer = caller.verify();
        assertNull(answer.problem());
        assertEquals(1, answer.responseBytes());
        assertTrue(answer.responseHeaderBytes() > 50, answer.toString());
      }
    }
  }

  /** Answers one connection with {@code pieces}, a packet each. */
  private Caller against(String... pieces) throws Exception {
    ServerSocket server = new ServerSocket(0);
    Caller caller = caller("http://localhost:" + server.getLocalPort(), Duration.ofMillis(2000));
    Thread thread =
        new Thread(
            () -> {
              try (server;
                  Socket client = server.accept()) {
                client.getInputStream().read(new byte[1000]);
                OutputStream out = client.getOutputStream();
                for (String piece : pieces) {
                  out.write(piece.getBytes(StandardCharsets.US_ASCII));
                  Thread.sleep(20);
                }
              } catch (IOException | InterruptedException e) {
                System.err.println(e);
              }
            });
    thread.start();
    caller.prepare(0);
    return caller;
  }

  @Test
  void readsAResponseInWhateverPiecesItComes() throws Exception {
    try (Caller caller =
        against("HTTP/1.1 200\r\nX: y\r", "\ncontent-LENGTH:  1\r\nZ: 77\r\n\r", "\n", "1")) {
      caller.call();
      Answer answer = caller.verify();
      assertNull(answer.problem());
      assertEquals(1, answer.responseBytes());
    }
  }

  @Test
  void otherStatusAndOtherBytesAreWrong() throws Exception {
    try (Caller caller = against("HTTP/1.1 404\r\nContent-Length: 1\r\n\r\n1")) {
      caller.call();
      assertEquals("the status is 'HTTP/1.1 404', not 200", caller.verify().problem());
    }
    try (Caller caller = against("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n12")) {
      caller.call();
      assertEquals("the body of 2 bytes is not the one byte expected", caller.verify().problem());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "HTTP/1.1 200\r\n\r\n",
        "HTTP/1.1 200\r\nContent-Length: 99999999999\r\n\r\n",
        "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n1",
        "HTTP/1.1 200\r\nCont"
      })
  void whatIsNoAnswerIsAnError(String response) throws Exception {
    try (Caller caller = against(response)) {
      assertThrows(IOException.class, caller::call);
    }
  }

  @Test
  void aSilentServerIsATimeoutAndTheCallerGoesOn() throws Exception {
    try (ServerSocket silent = new ServerSocket(0);
        Caller caller =
            caller("http://localhost:" + silent.getLocalPort(), Duration.ofMillis(300))) {
      for (int seq = 0; seq < 2; seq++) {
        caller.prepare(seq);
        assertThrows(SocketTimeoutException.class, caller::call);
      }
    }
  }
}
