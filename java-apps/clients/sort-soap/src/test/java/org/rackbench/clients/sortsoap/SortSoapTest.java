package org.rackbench.clients.sortsoap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rackbench.harness.Answer;
import org.rackbench.harness.Lab;
import org.rackbench.harness.Session;
import org.rackbench.harness.Setting;
import org.rackbench.tomcattesting.WarServer;

/** The client against the WAR that the module services has built, in a real Tomcat. */
class SortSoapTest {

  @TempDir static Path base;
  @TempDir Path directory;
  private static WarServer tomcat;
  private static String axis;

  @BeforeAll
  static void startTomcat() throws Exception {
    tomcat = new WarServer(base, "/axis", Path.of("../../services/target/axis.war"));
    axis = tomcat.url();
  }

  @AfterAll
  static void stopTomcat() throws Exception {
    tomcat.close();
  }

  private Session session(Duration callTimeout, String... axisUrls) throws Exception {
    String workers =
        Arrays.stream(axisUrls)
            .map("{\"axis_url\":\"%s\"}"::formatted)
            .collect(Collectors.joining(","));
    Path lab =
        Files.writeString(
            directory.resolve("lab.json"), "{\"schema\":1,\"workers\":[" + workers + "]}");
    Map<String, Object> factors = Map.of("servers", axisUrls.length, "integers", 100);
    SortSoap workload = new SortSoap();
    workload.open(new Setting("t1", factors, Map.of(), 42, 1, callTimeout, Lab.read(lab)));
    return workload.session(0);
  }

  @Test
  void sortsOnAllServersAndCountsBytes() throws Exception {
    try (Session session = session(Duration.ofSeconds(60), axis, axis, axis)) {
      for (int seq = 0; seq < 3; seq++) {
        session.prepare(seq);
        session.call();
        Answer answer = session.verify();
        assertNull(answer.problem());
        assertTrue(answer.requestBytes() > 100 * "<i>1</i>".length(), answer.toString());
        assertTrue(answer.responseBytes() > 100 * "<i>1</i>".length(), answer.toString());
        assertTrue(answer.requestHeaderBytes() > 3 * 100, answer.toString());
        assertTrue(answer.responseHeaderBytes() > 3 * 50, answer.toString());
      }
    }
  }

  @Test
  void aSilentServerIsATimeoutAndTheSessionGoesOn() throws Exception {
    try (ServerSocket silent = new ServerSocket(0);
        Session session =
            session(Duration.ofMillis(500), "http://localhost:" + silent.getLocalPort())) {
      for (int seq = 0; seq < 2; seq++) {
        session.prepare(seq);
        Exception e = assertThrows(Exception.class, session::call);
        assertTrue(isTimeout(e), e.toString());
      }
    }
  }

  private static boolean isTimeout(Throwable e) {
    return e != null
        && (e instanceof TimeoutException
            || e instanceof java.net.SocketTimeoutException
            || isTimeout(e.getCause()));
  }

  @Test
  void aMissingServerIsAnError() throws Exception {
    int port;
    try (ServerSocket closed = new ServerSocket(0)) {
      port = closed.getLocalPort();
    }
    try (Session session = session(Duration.ofSeconds(60), "http://localhost:" + port)) {
      session.prepare(0);
      Exception e = assertThrows(ExecutionException.class, session::call);
      assertTrue(e.getMessage().contains("Connection refused"), e.getMessage());
    }
  }

  @Test
  void moreServersThanWorkersIsSaid() throws Exception {
    Path lab = Files.writeString(directory.resolve("lab.json"), "{\"schema\":1,\"workers\":[]}");
    Map<String, Object> factors = Map.of("servers", 3, "integers", 100);
    Setting setting =
        new Setting("t1", factors, Map.of(), 42, 1, Duration.ofSeconds(1), Lab.read(lab));
    RuntimeException e = assertThrows(RuntimeException.class, () -> new SortSoap().open(setting));
    assertEquals(
        lab + ": 3 workers asked for, 0 there; lower the level or add workers", e.getMessage());
  }
}
