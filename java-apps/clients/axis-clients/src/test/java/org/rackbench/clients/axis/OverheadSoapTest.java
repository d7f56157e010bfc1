package org.rackbench.clients.axis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Setting;
import org.rackbench.harness.trial.LabFile;
import org.rackbench.tomcattesting.WarServer;

/** The client against the WAR that the module services has built, in a real Tomcat. */
@Timeout(120)
class OverheadSoapTest {

  private static final Duration LONG = Duration.ofSeconds(60);

  @TempDir static Path base;
  @TempDir Path directory;
  @AutoClose private static WarServer tomcat;

  @BeforeAll
  static void startTomcat() throws Exception {
    tomcat = new WarServer(base, "/axis", Path.of("../../services/target/axis.war"));
  }

  private Caller caller(String axisUrl, int replyBytes, int elements, Duration callTimeout)
      throws Exception {
    Path lab =
        Files.writeString(
            directory.resolve("lab.json"),
            "{\"schema\":1,\"workers\":[{\"axis_url\":\"%s\"}]}".formatted(axisUrl));
    OverheadSoap client = new OverheadSoap();
    Map<String, Object> factors = Map.of("reply_bytes", replyBytes, "elements", elements);
    client.open(new Setting("t1", factors, Map.of(), 42, 2, 1, callTimeout, LabFile.read(lab)));
    return client.caller(0);
  }

  @ParameterizedTest
  @CsvSource({"1, 1", "20000, 1", "20000, 20", "200000, 7"})
  void getsWhatItAskedForAndCountsBytes(int replyBytes, int elements) throws Exception {
    try (Caller caller = caller(tomcat.url(), replyBytes, elements, LONG)) {
      long requestBytes = 0;
      for (int seq = 0; seq < 5; seq++) {
        caller.prepare(seq);
        caller.call();
        Answer answer = caller.verify();
        assertNull(answer.problem());
        assertTrue(answer.requestBytes() > 300 && answer.requestBytes() < 2000, answer.toString());
        assertTrue(answer.responseBytes() > replyBytes, answer.toString());
        assertTrue(answer.responseBytes() < 1000 + replyBytes + 100L * elements, answer.toString());
        assertTrue(answer.requestHeaderBytes() > 100, answer.toString());
        assertTrue(answer.responseHeaderBytes() > 50, answer.toString());
        assertEquals(seq == 0 ? answer.requestBytes() : requestBytes, answer.requestBytes());
        requestBytes = answer.requestBytes();
      }
    }
  }

  /** A relay to Tomcat counts connections: one, made before the first call. */
  @Test
  void opensItsConnectionBeforeTheFirstCallAndKeepsIt() throws Exception {
    try (Relay relay = new Relay(tomcat.url());
        Caller caller = caller(relay.url(), 100, 1, LONG)) {
      for (int i = 0; relay.connections() == 0 && i < 5000; i++) {
        Thread.sleep(1);
      }
      assertEquals(1, relay.connections());
      for (int seq = 0; seq < 5; seq++) {
        caller.prepare(seq);
        caller.call();
        assertNull(caller.verify().problem());
      }
      assertEquals(1, relay.connections());
    }
  }

  @ParameterizedTest
  @CsvSource({"5, 0", "5, 6", "0, 1", "1048577, 1"})
  void whatNoReplyCanBeIsSaidBeforeAnyCall(int replyBytes, int elements) {
    assertThrows(
        IllegalArgumentException.class, () -> caller(tomcat.url(), replyBytes, elements, LONG));
  }

  @Test
  void aSilentServerIsATimeoutAndTheCallerGoesOn() throws Exception {
    try (ServerSocket silent = new ServerSocket(0);
        Caller caller =
            caller("http://localhost:" + silent.getLocalPort(), 5, 1, Duration.ofMillis(300))) {
      for (int seq = 0; seq < 2; seq++) {
        caller.prepare(seq);
        Exception e = assertThrows(Exception.class, caller::call);
        assertTrue(isTimeout(e), e.toString());
      }
    }
  }

  private static boolean isTimeout(Throwable e) {
    return e != null && (e instanceof java.net.SocketTimeoutException || isTimeout(e.getCause()));
  }

  @Test
  void aLostConnectionIsOneErrorAndNeverSentAgain() throws Exception {
    try (ServerSocket dropping = new ServerSocket(0);
        Caller caller =
            caller("http://localhost:" + dropping.getLocalPort(), 5, 1, Duration.ofSeconds(20))) {
      AtomicInteger connections = new AtomicInteger();
      Thread server =
          new Thread(
              () -> {
                try {
                  while (true) {
                    try (Socket client = dropping.accept()) {
                      connections.incrementAndGet();
                      client.getInputStream().read(new byte[1000]);
                    }
                  }
                } catch (IOException e) {
                  // the test is over
                }
              });
      server.start();
      caller.prepare(0);
      assertThrows(Exception.class, caller::call);
      // The server takes connections in their order, so a repeated request comes before this one.
      try (Socket last = new Socket(InetAddress.getLoopbackAddress(), dropping.getLocalPort())) {
        last.shutdownOutput();
        assertEquals(-1, last.getInputStream().read());
      }
      assertEquals(2, connections.get());
    }
  }
}
