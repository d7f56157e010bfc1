package org.rackbench.clients.axis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
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
class HelloHttpTest {

  private static final Duration LONG = Duration.ofSeconds(60);

  @TempDir static Path base;
  @TempDir Path directory;
  @AutoClose private static WarServer tomcat;

  @BeforeAll
  static void startTomcat() throws Exception {
    tomcat = new WarServer(base, "/axis", Path.of("../../services/target/axis.war"));
  }

  private Caller caller(String url, int messageBytes, Object pooled, Duration callTimeout)
      throws Exception {
    Path lab =
        Files.writeString(
            directory.resolve("lab.json"),
            "{\"schema\":1,\"workers\":[{\"axis_url\":\"%s\"}]}".formatted(url));
    Map<String, Object> factors = Map.of("message_bytes", messageBytes, "pooled", pooled);
    HelloHttp client = new HelloHttp();
    client.open(new Setting("t1", factors, Map.of(), 42, 2, 1, callTimeout, LabFile.read(lab)));
    return client.caller(0);
  }

  @ParameterizedTest
  @CsvSource({"512, true", "512, false", "3584, false", "104448, true", "104448, false"})
  void sendsAnEnvelopeOfJustThatManyBytes(int messageBytes, boolean pooled) throws Exception {
    try (Caller caller = caller(tomcat.url(), messageBytes, pooled, LONG)) {
      for (int seq = 0; seq < 4; seq++) {
        caller.prepare(seq);
        caller.call();
        Answer answer = caller.verify();
        assertNull(answer.problem());
        assertEquals(messageBytes, answer.requestBytes());
        assertTrue(Math.abs(answer.responseBytes() - messageBytes) < 100, answer.toString());
      }
    }
  }

  @Test
  void aMessageSmallerThanItsEnvelopeIsSaidBeforeAnyCall() {
    RuntimeException e =
        assertThrows(RuntimeException.class, () -> caller(tomcat.url(), 100, true, LONG));
    assertTrue(e.getMessage().contains("correct the level 'message_bytes'"), e.getMessage());
  }

  @Test
  void aLevelThatIsNeitherTrueNorFalseIsSaid() {
    RuntimeException e =
        assertThrows(RuntimeException.class, () -> caller(tomcat.url(), 512, "yes", LONG));
    assertEquals(
        "'pooled' of trial t1 is yes, not true or false; correct the study file", e.getMessage());
  }

  @Test
  void aSilentServerEndsTheSetUp() throws Exception {
    try (ServerSocket silent = new ServerSocket(0)) {
      String url = "http://localhost:" + silent.getLocalPort();
      Exception e =
          assertThrows(Exception.class, () -> caller(url, 512, true, Duration.ofMillis(300)));
      assertTrue(e.toString().contains("SocketTimeoutException"), e.toString());
    }
  }
}
