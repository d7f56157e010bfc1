package org.rackbench.clients.hellohttp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rackbench.harness.Answer;
import org.rackbench.harness.Lab;
import org.rackbench.harness.Session;
import org.rackbench.harness.Setting;
import org.rackbench.tomcattesting.WarServer;

/** The client against the WAR that the module services has built, in a real Tomcat. */
@Timeout(120)
class HelloHttpTest {

  private static final Duration LONG = Duration.ofSeconds(60);

  @TempDir static Path base;
  @TempDir Path directory;
  private static WarServer tomcat;

  @BeforeAll
  static void startTomcat() throws Exception {
    tomcat = new WarServer(base, "/axis", Path.of("../../services/target/axis.war"));
  }

  @AfterAll
  static void stopTomcat() throws Exception {
    tomcat.close();
  }

  private Session session(String url, int messageBytes, Object pooled, Duration callTimeout)
      throws Exception {
    Path lab =
        Files.writeString(
            directory.resolve("lab.json"),
            "{\"schema\":1,\"workers\":[{\"axis_url\":\"%s\"}]}".formatted(url));
    Map<String, Object> factors = Map.of("message_bytes", messageBytes, "pooled", pooled);
    HelloHttp workload = new HelloHttp();
    workload.open(new Setting("t1", factors, Map.of(), 42, 1, callTimeout, Lab.read(lab)));
    return workload.session(0);
  }

  @ParameterizedTest
  @CsvSource({"512, true", "512, false", "3584, false", "104448, true", "104448, false"})
  void sendsAnEnvelopeOfJustThatManyBytes(int messageBytes, boolean pooled) throws Exception {
    try (Session session = session(tomcat.url(), messageBytes, pooled, LONG)) {
      for (int seq = 0; seq < 4; seq++) {
        session.prepare(seq);
        session.call();
        Answer answer = session.verify();
        assertNull(answer.problem());
        assertEquals(messageBytes, answer.requestBytes());
        assertTrue(Math.abs(answer.responseBytes() - messageBytes) < 100, answer.toString());
      }
    }
  }

  @Test
  void aMessageSmallerThanItsEnvelopeIsSaidBeforeAnyCall() {
    RuntimeException e =
        assertThrows(RuntimeException.class, () -> session(tomcat.url(), 100, true, LONG));
    assertTrue(e.getMessage().contains("correct the level 'message_bytes'"), e.getMessage());
  }

  @Test
  void aLevelThatIsNeitherTrueNorFalseIsSaid() {
    RuntimeException e =
        assertThrows(RuntimeException.class, () -> session(tomcat.url(), 512, "yes", LONG));
    assertEquals(
        "'pooled' of trial t1 is yes, not true or false; correct the study file", e.getMessage());
  }

  @Test
  void aSilentServerEndsTheSetUp() throws Exception {
    try (ServerSocket silent = new ServerSocket(0)) {
      String url = "http://localhost:" + silent.getLocalPort();
      Exception e =
          assertThrows(Exception.class, () -> session(url, 512, true, Duration.ofMillis(300)));
      assertTrue(e.toString().contains("SocketTimeoutException"), e.toString());
    }
  }
}
