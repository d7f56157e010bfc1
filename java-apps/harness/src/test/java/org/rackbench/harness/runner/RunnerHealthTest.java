package org.rackbench.harness.runner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The runner with services and nodes that end, stay away or come back, and with a deadline. */
class RunnerHealthTest extends RunnerInLab {

  private static final Map<String, Object> TOMCAT = Map.of("needs", List.of("tomcat"));
  private static final Map<String, Object> TOMCATS =
      Map.of("needs", List.of("tomcat"), "servers", 2);

  /** Starts the runner with one trial, whose first attempt waits for a file {@code go}. */
  private Process underWay(Map<String, Object> needs, String... options) throws Exception {
    bench.plan("t1", "hang-once", needs);
    Process runner = bench.start(options);
    bench.puppet();
    return runner;
  }

  @Test
  void aTrialIsRepeatedWhenAServiceItNeedsEnded() throws Exception {
    Process runner = underWay(TOMCATS);
    nodes.end("tomcat on worker2", "signal killed KILL");
    nodes.begin("tomcat on worker2");
    Files.createFile(root.resolve("go"));
    Bench.Ended ended = bench.end(runner);
    assertEquals(0, ended.status(), ended.output());
    assertTrue(ended.output().contains("t1 attempt 1 discarded"), ended.output());
    assertEquals("ok", bench.trial("t1").get("outcome"));
    assertEquals(2, bench.trial("t1").get("attempt"));
    String earlier = bench.trial("t1").get("earlier_attempts").toString();
    assertTrue(earlier.contains("tomcat on worker2 ended (signal killed KILL)"), earlier);
    assertEquals(1, bench.state().get("thrown_away"));
  }

  @Test
  void whatTheTrialDoesNotNeedMayEnd() throws Exception {
    Process runner = underWay(TOMCAT);
    nodes.end("tomcat on worker2", "signal killed KILL");
    nodes.end("sort-worker on worker1", "signal killed KILL");
    Files.createFile(root.resolve("go"));
    assertEquals(0, bench.end(runner).status());
    assertEquals(1, bench.trial("t1").get("attempt"));
    assertEquals(List.of(), bench.trial("t1").get("earlier_attempts"));
  }

  @Test
  void aTrialWhoseWorkersAreShiftedNeedsTheNextWorkerInstead() throws Exception {
    nodes.shut("worker1");
    bench.plan("t1", "ok", Map.of("needs", List.of("tomcat"), "shift", 1));
    bench.plan("t2", "ok", Map.of("needs", List.of("tomcat"), "shift", 3));
    assertEquals(0, bench.runner().status());
    for (String id : List.of("t1", "t2")) {
      assertEquals("[tomcat on worker2]", services(id).toString());
    }
    assertEquals(3, bench.trial("t2").get("shift"));
  }

  private List<Object> services(String id) throws Exception {
    return List.copyOf(((Map<?, ?>) bench.trial(id).get("services")).keySet());
  }

  @Test
  void theLookThatEndsATrialServesForTheNext() throws Exception {
    int trials = 5;
    for (int trial = 1; trial <= trials; trial++) {
      bench.plan("t" + trial, "ok", TOMCATS);
    }
    assertEquals(0, bench.runner().status());
    int looks = nodes.looks("worker2");
    assertTrue(looks > trials && looks < 2 * trials, looks + " looks");
  }

  @Test
  void aServerThatRanOutOfMemoryIsAnOutcome() throws Exception {
    nodes.end("tomcat on worker1", "signal killed KILL"); // another end, before the trial
    nodes.begin("tomcat on worker1");
    Process runner = underWay(TOMCAT);
    nodes.end("tomcat on worker1", "exit-code exited 3");
    Files.createFile(root.resolve("go"));
    Bench.await(() -> "paused".equals(bench.state().get("state")));
    nodes.begin("tomcat on worker1");
    assertEquals(0, bench.end(runner).status());
    assertEquals("oom", bench.trial("t1").get("outcome"));
    assertEquals(
        "tomcat on worker1 ran out of memory (exit-code exited 3)",
        bench.trial("t1").get("reason"));
    assertEquals(1, bench.trial("t1").get("attempt"));
  }

  @Test
  void anOldLackOfMemoryDoesNotExplainANewEnd() throws Exception {
    nodes.end("tomcat on worker1", "exit-code exited 3");
    nodes.begin("tomcat on worker1");
    Process runner = underWay(TOMCAT);
    nodes.begin("tomcat on worker1"); // its end was never noted
    Files.createFile(root.resolve("go"));
    assertEquals(0, bench.end(runner).status());
    assertEquals("ok", bench.trial("t1").get("outcome"));
    assertEquals(2, bench.trial("t1").get("attempt"));
  }

  @Test
  void aFailureOfTheTrialsOwnIsNotRepeated() throws Exception {
    bench.plan("t1", "all-wrong", TOMCAT);
    assertEquals(0, bench.runner().status());
    assertEquals("failed", bench.trial("t1").get("outcome"));
    assertEquals(1, bench.trial("t1").get("attempt"));
  }

  @Test
  void theRunnerPausesUntilTheServiceAnswers() throws Exception {
    bench.plan("t1", "ok", TOMCAT);
    nodes.silence("tomcat on worker1");
    Process runner = bench.start();
    Bench.await(() -> Files.exists(bench.run.resolve("state.json")));
    Bench.await(() -> "paused".equals(bench.state().get("state")));
    assertEquals("tomcat on worker1 is silent", bench.state().get("reason"));
    Map<?, ?> node = (Map<?, ?>) ((Map<?, ?>) bench.state().get("nodes")).get("worker1");
    assertEquals("up", node.get("state"));
    assertEquals(5000, node.get("disk_free_mb"));
    Map<?, ?> service = (Map<?, ?>) ((Map<?, ?>) node.get("services")).get("tomcat");
    assertEquals("silent", service.get("state"));
    assertTrue(Instant.parse(service.get("since").toString()).isBefore(Instant.now()));
    nodes.begin("tomcat on worker1");
    assertEquals(0, bench.end(runner).status());
    assertEquals("finished", bench.state().get("state"));
    assertEquals(1, bench.trial("t1").get("attempt"));
  }

  @Test
  void aNodeThatStaysAwayPutsOffWhatNeedsItAndNoMore() throws Exception {
    bench.plan("t1", "ok", TOMCATS);
    bench.plan("t2", "ok", TOMCAT);
    bench.plan("t3", "ok", TOMCATS);
    bench.plan("t4", "ok");
    nodes.shut("worker2");
    Bench.Ended ended = bench.runner("--recover", "1");
    Map<?, ?> away = (Map<?, ?>) ((Map<?, ?>) bench.state().get("nodes")).get("worker2");
    assertEquals("away", away.get("state"));
    assertEquals(4, ended.status(), ended.output());
    assertFalse(Files.exists(bench.sealed("t1")) || Files.exists(bench.sealed("t3")));
    assertEquals("ok", bench.trial("t2").get("outcome"));
    assertEquals("ok", bench.trial("t4").get("outcome"));
    String reason = bench.state().get("reason").toString();
    assertTrue(reason.startsWith("2 of 4 trials are deferred, the first, t1: worker2"), reason);
    List<?> putOff = (List<?>) bench.state().get("put_off");
    assertEquals(2, putOff.size());
    assertTrue(putOff.get(1).toString().contains("id=t3"), putOff.toString());
    assertEquals(2, ended.output().split("paused: worker2").length, "not waited for once alone");

    nodes.open("worker2");
    ended = bench.runner("--recover", "1");
    assertEquals(0, ended.status(), ended.output());
    assertEquals(1, bench.trial("t3").get("attempt"));
  }

  @Test
  void aServiceThatHangsIsRestartedAndTheTrialRepeated() throws Exception {
    Process runner = underWay(TOMCAT);
    nodes.restart();
    nodes.silence("tomcat on worker1");
    Files.createFile(root.resolve("go"));
    Bench.Ended ended = bench.end(runner);
    assertEquals(0, ended.status(), ended.output());
    assertEquals("ok", bench.trial("t1").get("outcome"));
    assertEquals(2, bench.trial("t1").get("attempt"));
    String restarts = bench.trial("t1").get("restarts").toString();
    assertTrue(restarts.contains("service=tomcat on worker1"), restarts);
  }

  @Test
  void aNodeThatIsLeftOutIsNotWaitedFor() throws Exception {
    bench.plan("t1", "ok", TOMCATS);
    bench.plan("t2", "ok", TOMCAT);
    Bench.Ended ended = bench.runner("--without", "worker2,worker3", "--recover", "600");
    assertEquals(4, ended.status(), ended.output());
    assertEquals("ok", bench.trial("t2").get("outcome"));
    String reason = bench.state().get("reason").toString();
    assertTrue(reason.endsWith("t1: worker2 is left out of this sweep"), reason);
  }

  @Test
  void whatComesBackIsRunInTheEnd() throws Exception {
    bench.plan("t1", "ok", TOMCATS);
    bench.plan("t2", "hang-once", TOMCAT);
    nodes.shut("worker2");
    Process runner = bench.start("--recover", "0");
    bench.puppet();
    nodes.open("worker2");
    Files.createFile(root.resolve("go"));
    Bench.Ended ended = bench.end(runner);
    assertEquals(0, ended.status(), ended.output());
    assertEquals("ok", bench.trial("t1").get("outcome"));
    assertEquals(List.of(), bench.state().get("put_off"));
  }

  @Test
  void aNodeThatGoesAwayDuringTheTrialSpoilsIt() throws Exception {
    Process runner = underWay(TOMCAT);
    nodes.shut("worker1");
    Files.createFile(root.resolve("go"));
    Bench.await(() -> "paused".equals(bench.state().get("state")));
    nodes.open("worker1");
    assertEquals(0, bench.end(runner).status());
    assertEquals(2, bench.trial("t1").get("attempt"));
    String earlier = bench.trial("t1").get("earlier_attempts").toString();
    assertTrue(earlier.contains("worker1 does not answer"), earlier);
  }

  @Test
  void oneMissedLookDisturbsNothing() throws Exception {
    Process runner = underWay(TOMCAT, "--look", "1");
    nodes.shut("worker1");
    Bench.await(() -> "away".equals(stateOf("worker1")));
    nodes.open("worker1");
    Bench.await(() -> "up".equals(stateOf("worker1")));
    Files.createFile(root.resolve("go"));
    Bench.Ended ended = bench.end(runner);
    assertEquals(0, ended.status(), ended.output());
    assertEquals("ok", bench.trial("t1").get("outcome"));
    assertEquals(1, bench.trial("t1").get("attempt"), ended.output());
  }

  @Test
  void oneMissedLookAfterAGoodTrialDisturbsNothing() throws Exception {
    Process runner = underWay(TOMCAT, "--look", "100");
    nodes.shut("worker1");
    Files.createFile(root.resolve("go"));
    Bench.await(() -> "away".equals(stateOf("worker1")));
    nodes.open("worker1");
    Bench.Ended ended = bench.end(runner);
    assertEquals(0, ended.status(), ended.output());
    assertEquals(1, bench.trial("t1").get("attempt"), ended.output());
  }

  @Test
  void aNodeThatMissesManyLooksSpoilsTheTrialAndMakesNoTimeout() throws Exception {
    Process runner = underWay(TOMCAT, "--look", "1");
    nodes.shut("worker1");
    Bench.await(() -> "paused".equals(bench.state().get("state")));
    nodes.open("worker1");
    Files.createFile(root.resolve("go"));
    Bench.Ended ended = bench.end(runner);
    assertEquals(0, ended.status(), ended.output());
    assertEquals("ok", bench.trial("t1").get("outcome"));
    assertEquals(2, bench.trial("t1").get("attempt"));
    String earlier = bench.trial("t1").get("earlier_attempts").toString();
    assertTrue(earlier.contains("worker1 does not answer in 3 health checks in a row"), earlier);
  }

  @Test
  void aServiceThatEndedIsSeenWhileTheTrialRuns() throws Exception {
    Process runner = underWay(TOMCAT, "--look", "1");
    nodes.end("tomcat on worker1", "signal killed KILL");
    nodes.begin("tomcat on worker1");
    Bench.await(() -> bench.state().get("thrown_away").equals(1)); // the file go does not exist yet
    Files.createFile(root.resolve("go"));
    assertEquals(0, bench.end(runner).status());
    assertEquals("ok", bench.trial("t1").get("outcome"));
    assertEquals(2, bench.trial("t1").get("attempt"));
  }

  @Test
  void theBoundMakesATimeoutDespiteOneMissedLook() throws Exception {
    bench.plan("t1", "hang", Map.of("needs", List.of("tomcat"), "timeout_s", 8));
    Process runner = bench.start("--look", "1");
    bench.puppet();
    nodes.shut("worker1");
    Bench.await(() -> "away".equals(stateOf("worker1")));
    nodes.open("worker1");
    Bench.Ended ended = bench.end(runner);
    assertEquals(0, ended.status(), ended.output());
    assertEquals("timeout", bench.trial("t1").get("outcome"));
    assertEquals(1, bench.trial("t1").get("attempt"), ended.output());
  }

  private Object stateOf(String node) throws Exception {
    return ((Map<?, ?>) ((Map<?, ?>) bench.state().get("nodes")).get(node)).get("state");
  }

  @Test
  void anEndThatIsNotedOnlyAfterTheTrialFailedSpoilsIt() throws Exception {
    bench.plan("t1", "all-wrong", TOMCATS);
    nodes.restartBeforeRequest("worker2", 3); // asked before the trial, after it, and once more
    Bench.Ended ended = bench.runner();
    assertEquals(0, ended.status(), ended.output());
    assertEquals("failed", bench.trial("t1").get("outcome"));
    assertEquals(2, bench.trial("t1").get("attempt"), ended.output());
  }

  @Test
  void aTrialThatIsSpoiltAgainAndAgainIsPutOff() throws Exception {
    bench.plan("t1", "ok", TOMCAT);
    bench.plan("t2", "ok");
    nodes.flap();
    Bench.Ended ended = bench.runner("--retries", "1");
    assertEquals(4, ended.status(), ended.output());
    assertEquals("ok", bench.trial("t2").get("outcome"));
    String putOff = bench.state().get("put_off").toString();
    assertTrue(putOff.contains("2 attempts were spoilt, the last: tomcat on worker1"), putOff);
  }

  @Test
  void aDiskWithTooLittleRoomPauses() throws Exception {
    bench.plan("t1", "ok");
    Bench.Ended ended = bench.runner("--free-mb", "999999999", "--recover", "0");
    assertEquals(4, ended.status(), ended.output());
    String reason = bench.state().get("reason").toString();
    assertTrue(reason.contains("MiB free, 999999999 are needed"), reason);
  }

  @Test
  void noTrialStartsAfterTheHour() throws Exception {
    bench.plan("t1", "ok");
    Bench.Ended ended = bench.runner("--until", "2026-01-01T00:00:00Z");
    assertEquals(5, ended.status(), ended.output());
    assertEquals("deadline", bench.state().get("state"));
    assertFalse(Files.exists(bench.sealed("t1")));
  }

  @Test
  void theRunningTrialEndsAfterTheHour() throws Exception {
    bench.plan("t1", "hang-once");
    bench.plan("t2", "ok");
    Bench.Ended ended = null;
    for (int seconds = 4; seconds < 100 && !Files.exists(bench.sealed("t1")); seconds *= 3) {
      Instant until = Instant.now().plusSeconds(seconds); // a slow machine gets more
      Process runner = bench.start("--until", until.toString());
      Bench.await(() -> Files.exists(root.resolve("puppet.pid")) || !runner.isAlive());
      Bench.await(() -> Instant.now().isAfter(until));
      if (runner.isAlive()) {
        Files.createFile(root.resolve("go"));
      }
      ended = bench.end(runner);
    }
    assertEquals(5, ended.status(), ended.output());
    assertEquals("ok", bench.trial("t1").get("outcome"));
    assertFalse(Files.exists(bench.sealed("t2")));
  }

  @Test
  void interferenceIsRecordedForEachNode() throws Exception {
    bench.plan("t1", "ok", TOMCATS);
    bench.runner();
    Map<?, ?> found = (Map<?, ?>) bench.trial("t1").get("interference");
    assertEquals(List.of("worker1", "worker2"), List.copyOf(found.keySet()));
    Map<?, ?> worker = (Map<?, ?>) found.get("worker2");
    assertEquals(List.of(0.5, 0.5), worker.get("load1"));
    assertEquals(null, worker.get("temperature_c"));
  }

  @Test
  void needsThatNoNodeServesAreRefused() throws Exception {
    bench.plan("t1", "ok", Map.of("needs", List.of("broker")));
    Bench.Ended ended = bench.runner();
    assertEquals(2, ended.status());
    assertTrue(ended.output().contains("no node has the service broker"), ended.output());
    assertFalse(Files.exists(bench.run.resolve("state.json")));
  }

  @Test
  void badLimitsAreRefused() throws Exception {
    bench.plan("t1", "ok");
    for (String[] bad :
        new String[][] {{"--until", "22:00"}, {"--retries", "-1"}, {"--recover", "long"}}) {
      Bench.Ended ended = bench.runner(bad);
      assertEquals(2, ended.status());
      assertTrue(ended.output().contains("%s is '%s'".formatted(bad[0], bad[1])), ended.output());
    }
  }
}
