package org.rackbench.harness.runner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rackbench.harness.trial.Json;

/** The runner against kills, signals, bad input and a full disk. */
class RunnerFaultTest {

  @TempDir Path root;
  private Bench bench;

  @BeforeEach
  void makeBench() throws Exception {
    bench = new Bench(root);
  }

  @Test
  void badPlanIsRefusedByFileAndLine() throws Exception {
    bench.plan("t1", "ok");
    bench.appendPlan("{\"schema\":1,\"id\":\"t2\"");
    assertRefused("plan.jsonl:2: not a JSON object");
    Files.delete(bench.run.resolve("plan.jsonl"));
    bench.plan("t1", "ok", Map.of("calls", 0));
    assertRefused("plan.jsonl:1: 'calls' is 0, not a whole number >= 1");
    Files.delete(bench.run.resolve("plan.jsonl"));
    bench.plan("../t1", "ok");
    assertRefused("plan.jsonl:1: 'id' is ../t1");
    Files.delete(bench.run.resolve("plan.jsonl"));
    bench.plan("t1", "ok");
    bench.plan("t1", "ok");
    assertRefused("plan.jsonl:2: trial t1 appears twice");
  }

  @Test
  void anErrorThatNobodyForesawEndsTheRunner() throws Exception {
    bench.plan("t1", "ok");
    for (int megabytes = 0; megabytes <= Bench.RUNNER_HEAP_MB; megabytes++) {
      bench.appendPlan(" ".repeat(1 << 20));
    }
    Bench.Ended runner = bench.runner();
    assertEquals(Runner.FAULT, runner.status(), runner.output());
    assertTrue(runner.output().contains("OutOfMemoryError"), runner.output());
  }

  @Test
  void badOptionsAndMissingFilesAreRefused() throws Exception {
    assertRefused("plan.jsonl: no such file");
    bench.plan("t1", "ok", Map.of("client", "nobody"));
    assertRefused("clients/nobody: no such client directory");
    assertRefused("--first: unknown option or no value", "--first");
    assertRefused("no trial 't7'", "--first", "t7");
    Path group = Files.writeString(root.resolve("group"), "t1\nt8\n");
    assertRefused("group:2: no trial 't8'", "--group", group.toString());
  }

  @Test
  void runsOnlyTheGroup() throws Exception {
    for (String id : List.of("t1", "t2", "t3", "t4")) {
      bench.plan(id, "ok");
    }
    Path group = Files.writeString(root.resolve("group"), "t3\nt1\n");
    assertEquals(0, bench.runner("--group", group.toString()).status());
    assertEquals(List.of("t1", "t3"), sealed());
    assertEquals(0, bench.runner("--first", "t2", "--last", "t3").status());
    assertEquals(List.of("t1", "t2", "t3"), sealed());
    assertEquals(4, bench.state().get("total"));
    assertEquals(3, bench.state().get("sealed"));
  }

  @Test
  void aSecondRunnerIsToldWhoHoldsTheLock() throws Exception {
    bench.plan("t1", "hang-once");
    Process first = bench.start();
    bench.puppet();
    Process second = new ProcessBuilder(bench.command()).redirectErrorStream(true).start();
    String said = new String(second.getInputStream().readAllBytes());
    assertEquals(2, second.waitFor());
    assertTrue(said.contains("pid " + first.pid() + ", of run demo, since 2"), said);
    Files.createFile(root.resolve("go"));
    assertEquals(0, bench.end(first).status());
    assertEquals(List.of("t1"), sealed());
  }

  @Test
  void sigtermLetsTheRunningTrialEndAndStartsNoOther() throws Exception {
    bench.plan("t1", "hang-once");
    bench.plan("t2", "ok");
    Process runner = bench.start();
    ProcessHandle jvm = bench.puppet();
    Bench.signal("TERM", jvm.pid()); // as a signal to the whole group would
    runner.destroy();
    Bench.await(() -> "stopping".equals(bench.state().get("state")));
    Files.createFile(root.resolve("go"));
    Bench.Ended ended = bench.end(runner);
    assertEquals(0, ended.status(), ended.output());
    assertEquals(List.of("t1"), sealed());
    assertEquals("ok", bench.trial("t1").get("outcome"));
    assertEquals("finished", bench.state().get("state"));
    assertEquals("stopped before trial 2", bench.state().get("reason"));
  }

  @Test
  void aKilledRunnerIsResumedAndSealedTrialsStayAsTheyWere() throws Exception {
    bench.plan("t1", "ok");
    bench.plan("t2", "hang-once");
    bench.plan("t3", "ok");
    Process runner = bench.start();
    ProcessHandle jvm = bench.puppet();
    Map<String, String> before = contents("t1");
    runner.destroyForcibly().waitFor();
    jvm.onExit().get(); // it ends by itself when its runner is gone
    Files.createFile(root.resolve("go"));
    Bench.Ended second = bench.runner();
    assertEquals(0, second.status(), second.output());
    assertEquals(before, contents("t1"));
    assertEquals(List.of("t1", "t2", "t3"), sealed());
    assertEquals(1, bench.trial("t1").get("attempt"));
    assertEquals(2, bench.trial("t2").get("attempt"));
    String earlier = bench.trial("t2").get("earlier_attempts").toString();
    assertTrue(earlier.contains("the runner ended before the trial was sealed"), earlier);
    try (Stream<Path> left = Files.list(bench.run.resolve("work"))) {
      assertEquals(List.of(), left.toList());
    }
  }

  @Test
  void aStaleJvmThatDoesNotEndIsEndedByTheNextRunner() throws Exception {
    bench.plan("t1", "hang-once");
    Process runner = bench.start();
    ProcessHandle jvm = bench.puppet();
    Bench.await(() -> Files.exists(bench.run.resolve("work/t1.1/jvm")));
    Bench.signal("STOP", jvm.pid());
    runner.destroyForcibly().waitFor();
    Files.createFile(root.resolve("go"));
    assertTrue(jvm.isAlive());
    assertEquals(0, bench.runner().status());
    assertFalse(jvm.isAlive());
    assertEquals(2, bench.trial("t1").get("attempt"));
  }

  @Test
  void aProcessThatOnlyHasTheNotedPidIsLetBe() throws Exception {
    bench.plan("t1", "ok");
    Process stranger = new ProcessBuilder("sleep", "1000").start();
    try {
      Path stale = Files.createDirectories(bench.run.resolve("work/t1.4"));
      Files.writeString(stale.resolve("jvm"), stranger.pid() + " 12345");
      assertEquals(0, bench.runner().status());
      assertTrue(stranger.isAlive());
      assertEquals(5, bench.trial("t1").get("attempt"));
    } finally {
      stranger.destroyForcibly();
    }
  }

  @Test
  void aFullDiskEndsTheRunnerAndNothingHalfWrittenCounts() throws Exception {
    for (int i = 1; i < 40; i++) {
      bench.plan("t%02d".formatted(i), "ok", Map.of("calls", 200));
    }
    Path kept = root.resolve("kept");
    Bench.Ended runner = bench.runnerOnDisk("64k", kept);
    assertEquals(3, runner.status(), runner.output());
    assertTrue(runner.output().contains("No space left on device"), runner.output());
    assertTrue(runner.output().contains("start the runner again"), runner.output());
    try (Stream<Path> trials = Files.list(kept)) {
      for (Path trial : trials.toList()) {
        TrialSchema.check(trial.resolve("trial.json"));
        Map<String, Object> record = Json.read(trial.resolve("trial.json"));
        List<String> rows = Files.readAllLines(trial.resolve("calls.csv"));
        assertEquals("ok", record.get("outcome"));
        assertEquals(rows.size() - 1, record.get("calls_rows"));
      }
    }
  }

  private void assertRefused(String message, String... options) throws Exception {
    Bench.Ended runner = bench.runner(options);
    assertEquals(2, runner.status(), runner.output());
    assertTrue(runner.output().contains(message), runner.output());
    assertFalse(runner.output().contains("\tat "), runner.output());
    assertFalse(Files.exists(bench.run.resolve("trials")));
  }

  private List<String> sealed() throws Exception {
    try (Stream<Path> trials = Files.list(bench.run.resolve("trials"))) {
      return trials.map(path -> path.getFileName().toString()).sorted().toList();
    }
  }

  private Map<String, String> contents(String id) throws Exception {
    Map<String, String> contents = new TreeMap<>();
    try (Stream<Path> files = Files.list(bench.sealed(id))) {
      for (Path file : files.toList()) {
        contents.put(
            file.getFileName().toString(),
            Files.getLastModifiedTime(file) + Files.readString(file));
      }
    }
    return contents;
  }
}
