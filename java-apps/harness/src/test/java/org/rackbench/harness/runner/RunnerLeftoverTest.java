package org.rackbench.harness.runner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rackbench.harness.trial.Json;

/** Trials that leave work to a service when they end. */
class RunnerLeftoverTest extends RunnerInLab {

  private static final String TOMCAT = "tomcat on worker1";
  private static final Map<String, Object> NEEDS = Map.of("needs", List.of("tomcat"));

  @BeforeEach
  void makeTomcatWork() {
    nodes.work(TOMCAT);
  }

  /** Begins with a trial that fails at once while its service goes on working. */
  private Process left(String part, String... options) throws Exception {
    bench.plan("a", part, NEEDS);
    bench.plan("b", "ok", NEEDS);
    return bench.start(options);
  }

  /** Waits until the node has had this many health checks. */
  private void awaitLooks(int looks) throws Exception {
    Bench.await(() -> nodes.looks("worker1") >= looks);
  }

  private Map<?, ?> leftWork(String id) throws Exception {
    return (Map<?, ?>) bench.trial(id).get("left_work");
  }

  @Test
  void theEndOfAServiceBelongsToTheTrialThatLeftItTheWork() throws Exception {
    Process runner = left("crash");
    awaitLooks(12); // more than both trials would need without the wait
    nodes.end(TOMCAT, "exit-code exited 3");
    nodes.begin(TOMCAT);
    Bench.Ended ended = bench.end(runner);
    assertEquals(0, ended.status(), ended.output());
    assertEquals("oom", bench.trial("a").get("outcome"));
    assertEquals(
        "tomcat on worker1 ran out of memory (exit-code exited 3)", bench.trial("a").get("reason"));
    assertEquals("ok", bench.trial("b").get("outcome"));
    assertEquals(1, bench.trial("b").get("attempt"));
    assertEquals(List.of(), bench.trial("b").get("earlier_attempts"));
  }

  @Test
  void noTrialBeginsWhileAServiceStillWorks() throws Exception {
    Process runner = left("crash");
    awaitLooks(12);
    assertEquals("a", bench.state().get("running"));
    assertFalse(Files.exists(bench.sealed("a")));
    nodes.rest(TOMCAT);
    assertEquals(0, bench.end(runner).status());
    assertEquals("failed", bench.trial("a").get("outcome"));
    assertEquals(List.of(), leftWork("a").get("still_busy"));
    assertEquals("ok", bench.trial("b").get("outcome"));
    assertNull(bench.trial("b").get("left_work"));
    assertEquals(List.of(), bench.trial("b").get("block_starts"));
  }

  @Test
  void aCallThatWasCutOffLeavesWorkThoughTheTrialIsOk() throws Exception {
    Process runner = left("one-late");
    awaitLooks(12);
    assertEquals("a", bench.state().get("running"));
    nodes.rest(TOMCAT);
    assertEquals(0, bench.end(runner).status());
    assertEquals("ok", bench.trial("a").get("outcome"));
    assertTrue((double) leftWork("a").get("waited_ms") >= 200);
  }

  @Test
  void aServiceThatStaysBusyIsRestartedAndWarmed() throws Exception {
    Bench.Ended ended = bench.end(left("crash", "--recover", "2"));
    assertEquals(0, ended.status(), ended.output());
    assertEquals(List.of(TOMCAT), nodes.newStarts());
    assertEquals("failed", bench.trial("a").get("outcome"));
    assertEquals(List.of(TOMCAT), leftWork("a").get("still_busy"));
    assertEquals("ok", bench.trial("b").get("outcome"));
    Map<?, ?> done = (Map<?, ?>) ((List<?>) bench.trial("b").get("block_starts")).get(0);
    assertEquals(List.of(TOMCAT), done.get("restarted"));
    assertEquals("busy with work that an earlier trial left", done.get("reason"));
    assertEquals(1, done.get("warm_cells"));
    assertEquals(List.of("a"), done.get("not_warmed"));
  }

  @Test
  void withoutThePasswordForARestartTheNextTrialIsDeferred() throws Exception {
    Map<String, Object> lab = Json.read(root.resolve("lab.json"));
    lab.remove("restart_password_file");
    Files.write(root.resolve("lab.json"), Json.bytes(lab));
    Bench.Ended ended = bench.end(left("crash", "--recover", "1"));
    assertEquals(4, ended.status(), ended.output());
    assertEquals("failed", bench.trial("a").get("outcome"));
    assertFalse(Files.exists(bench.sealed("b")));
    String reason = bench.state().get("reason").toString();
    assertTrue(reason.contains(TOMCAT + " is still busy with work"), reason);
    nodes.rest(TOMCAT);
    assertEquals(0, bench.runner().status());
    assertEquals("ok", bench.trial("b").get("outcome"));
  }

  @Test
  void aNodeThatTellsNoProcessorTimeIsNamedAndTheRunGoesOn() throws Exception {
    nodes.hideProcessorTime();
    Bench.Ended ended = bench.end(left("crash"));
    assertEquals(0, ended.status(), ended.output());
    assertTrue(ended.output().contains(TOMCAT + ": its node does not report"), ended.output());
    assertEquals("ok", bench.trial("b").get("outcome"));
  }
}
