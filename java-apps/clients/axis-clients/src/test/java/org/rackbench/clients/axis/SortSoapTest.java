package org.rackbench.clients.axis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.ConnectException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Part;
import org.rackbench.harness.api.Setting;
import org.rackbench.harness.trial.LabFile;
import org.rackbench.tomcattesting.WarServer;

/** The client against the WAR that the module services has built, in a real Tomcat. */
class SortSoapTest {

  @TempDir static Path base;
  @TempDir Path directory;
  @AutoClose private static WarServer tomcat;
  private static String axis;

  @BeforeAll
  static void startTomcat() throws Exception {
    tomcat = new WarServer(base, "/axis", Path.of("../../services/target/axis.war"));
    axis = tomcat.url();
  }

  private Caller caller(Duration callTimeout, String... axisUrls) throws Exception {
    return caller(Map.of(), callTimeout, axisUrls);
  }

  private Caller caller(boolean pooled, String... axisUrls) throws Exception {
    return caller(Map.of("pooled", pooled), Duration.ofSeconds(60), axisUrls);
  }

  private Caller caller(Map<String, Object> constants, Duration callTimeout, String... axisUrls)
      throws Exception {
    String workers =
        Arrays.stream(axisUrls)
            .map("{\"axis_url\":\"%s\"}"::formatted)
            .collect(Collectors.joining(","));
    Path lab =
        Files.writeString(
            directory.resolve("lab.json"), "{\"schema\":1,\"workers\":[" + workers + "]}");
    Map<String, Object> factors = Map.of("servers", axisUrls.length, "integers", 100);
    SortSoap client = new SortSoap();
    client.open(new Setting("t1", factors, constants, 42, 2, 1, callTimeout, LabFile.read(lab)));
    return client.caller(0);
  }

  @ParameterizedTest
  @CsvSource({"true, 3", "false, 9"})
  void sortsOnAllServersAndCountsBytes(boolean pooled, int connections) throws Exception {
    try (Relay relay = new Relay(axis);
        Caller caller = caller(pooled, relay.url(), relay.url(), relay.url())) {
      for (int seq = 0; seq < 3; seq++) {
        caller.prepare(seq);
        caller.call();
        Answer answer = caller.verify();
        assertNull(answer.problem());
        assertTrue(answer.requestBytes() > 100 * "<i>1</i>".length(), answer.toString());
        assertTrue(answer.responseBytes() > 100 * "<i>1</i>".length(), answer.toString());
        assertTrue(answer.requestHeaderBytes() > 3 * 100, answer.toString());
        assertTrue(answer.responseHeaderBytes() > 3 * 50, answer.toString());
      }
      assertEquals(connections, relay.connections());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void thePartsOfAJobAreNoLongerThanTheJob(int servers) throws Exception {
    String[] urls = Collections.nCopies(servers, axis).toArray(String[]::new);
    try (Caller caller = caller(Map.of("parts", true), Duration.ofSeconds(60), urls)) {
      for (int seq = 0; seq < 20; seq++) {
        caller.prepare(seq);
        final long begin = System.nanoTime();
        caller.call();
        final long elapsed = System.nanoTime() - begin;
        assertNull(caller.verify().problem());
        long sum = 0;
        for (Part part : EnumSet.complementOf(EnumSet.of(Part.REST))) {
          long nanos = caller.parts().nanos(part);
          assertTrue(nanos > 0, part + " took " + nanos);
          sum += nanos;
        }
        assertTrue(sum <= elapsed, sum + " of " + elapsed);
      }
    }
  }

  @Test
  void aSilentServerIsATimeoutAndTheCallerGoesOn() throws Exception {
    try (ServerSocket silent = new ServerSocket(0);
        Caller caller =
            caller(Duration.ofMillis(500), "http://localhost:" + silent.getLocalPort())) {
      for (int seq = 0; seq < 2; seq++) {
        caller.prepare(seq);
        Exception e = assertThrows(Exception.class, caller::call);
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
    String missing = "http://localhost:" + port;
    assertThrows(ConnectException.class, () -> caller(true, missing));
    try (Caller caller = caller(false, missing)) {
      caller.prepare(0);
      Exception e = assertThrows(ExecutionException.class, caller::call);
      assertTrue(e.getMessage().contains("Connection refused"), e.getMessage());
    }
  }

  @Test
  void moreServersThanWorkersIsSaid() throws Exception {
    Path lab = Files.writeString(directory.resolve("lab.json"), "{\"schema\":1,\"workers\":[]}");
    Map<String, Object> factors = Map.of("servers", 3, "integers", 100);
    Setting setting =
        new Setting("t1", factors, Map.of(), 42, 2, 1, Duration.ofSeconds(1), LabFile.read(lab));
    RuntimeException e = assertThrows(RuntimeException.class, () -> new SortSoap().open(setting));
    assertEquals(
        lab + ": the trial needs 3 workers, and the lab has 0; lower the level or add workers",
        e.getMessage());
  }
}
