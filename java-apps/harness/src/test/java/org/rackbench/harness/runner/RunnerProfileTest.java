package org.rackbench.harness.runner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.rackbench.harness.trial.Json;

/** A runner whose plan has a trial with a profiler. */
class RunnerProfileTest extends RunnerInLab {

  private static final String TOMCAT = "tomcat on worker1";

  private void plan(String id, int block, boolean profiled) throws Exception {
    Map<String, Object> more =
        Json.of("needs", List.of("tomcat"), "block", block, "restart", "none");
    if (profiled) {
      more.put("profiled", true);
    }
    bench.plan(id, "ok", more);
  }

  private void run(String... more) throws Exception {
    Bench.Ended ended = bench.runner(more);
    assertEquals(0, ended.status(), ended.output());
  }

  private Object start(String id) throws Exception {
    return ((Map<?, ?>) bench.trial(id).get("services")).get(TOMCAT);
  }

  @Test
  void theProfilerComesLastAndLeavesNoTrace() throws Exception {
    plan("p2-t2", 2, true); // at any place in the plan
    plan("b1-t1", 1, false);
    run();
    assertEquals(List.of(TOMCAT, TOMCAT), nodes.newStarts());
    assertNotEquals(start("b1-t1"), start("p2-t2"));
    Map<String, Object> counted = bench.trial("b1-t1");
    Map<String, Object> profiled = bench.trial("p2-t2");
    assertTrue(
        counted.get("started_at").toString().compareTo(profiled.get("started_at").toString()) < 0);
    assertEquals(List.of(), counted.get("profiles"));
    assertEquals(true, profiled.get("profiled"));
    assertEquals(
        ((Map<?, ?>) counted.get("jvm")).get("options"),
        ((Map<?, ?>) profiled.get("jvm")).get("options"));
    Map<?, ?> service = (Map<?, ?>) ((List<?>) profiled.get("profiles")).get(1);
    assertEquals("worker1-tomcat.collapsed", service.get("stacks"));
    assertEquals(
        "a.b;c.d 2000000\n",
        Files.readString(bench.sealed("p2-t2").resolve("worker1-tomcat.collapsed")));
    assertTrue(Files.exists(bench.sealed("p2-t2").resolve("worker1-tomcat.html")));
    assertEquals(
        "FLR\0",
        Files.readString(bench.sealed("p2-t2").resolve((String) service.get("recording"))));
  }

  @Test
  void aProfilerThatDoesNotStartIsAGapWithItsReason() throws Exception {
    plan("p1-t1", 1, true);
    Files.writeString(root.resolve("restart.password"), "another");
    Bench.Ended ended = bench.runner();
    assertEquals(4, ended.status(), "it cannot restart the service either");
    Files.writeString(root.resolve("restart.password"), "a password");
    run();
    Map<?, ?> client = (Map<?, ?>) ((List<?>) bench.trial("p1-t1").get("profiles")).get(0);
    assertEquals("client", client.get("role"));
    assertTrue(client.get("missing").toString().contains("libasyncProfiler.so"), client.toString());
  }

  @Test
  void aServiceThatARunnerLeftWithTheProfilerIsStartedAnewBeforeATrialThatCounts()
      throws Exception {
    nodes.leaveProfiler(TOMCAT);
    plan("b1-t1", 1, false);
    run();
    assertEquals(List.of(TOMCAT), nodes.newStarts());
    assertEquals("ok", bench.trial("b1-t1").get("outcome"));
  }
}
