package org.rackbench.harness.runner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.rackbench.harness.trial.Json;

/** A runner whose plan gives each block its own start of the services. */
class RunnerRestartTest extends RunnerInLab {

  private static final String TOMCAT = "tomcat on worker1";

  private void plan(String id, String part, int block) throws Exception {
    bench.plan(id, part, Map.of("needs", List.of("tomcat"), "block", block, "restart", "block"));
  }

  private Object start(String id) throws Exception {
    return ((Map<?, ?>) bench.trial(id).get("services")).get(TOMCAT);
  }

  private List<?> blockStarts(String id) throws Exception {
    return (List<?>) bench.trial(id).get("block_starts");
  }

  private void run(String... more) throws Exception {
    Bench.Ended ended = bench.runner(more);
    assertEquals(0, ended.status(), ended.output());
  }

  @Test
  void eachBlockHasAStartOfItsOwnOfWhatItNeeds() throws Exception {
    plan("b1-t1", "ok", 1);
    plan("b1-t2", "chatty", 1);
    plan("b2-t3", "ok", 2);
    plan("b2-t4", "chatty", 2);
    run();
    assertEquals(start("b1-t1"), start("b1-t2"));
    assertEquals(start("b2-t3"), start("b2-t4"));
    assertNotEquals(start("b1-t1"), start("b2-t3"));
    assertEquals(List.of(TOMCAT, TOMCAT), nodes.newStarts());
    Map<?, ?> done = (Map<?, ?>) blockStarts("b2-t3").get(0);
    assertEquals(List.of(TOMCAT), done.get("restarted"));
    assertEquals(2, done.get("warm_cells"));
    assertTrue((int) done.get("warm_calls") >= 2, done.toString());
    assertEquals(List.of(), blockStarts("b2-t4"));
    assertEquals(5, bench.measured("b1-t1").size(), "a call that warmed the service was logged");
    try (Stream<Path> left = Files.list(bench.run.resolve("work"))) {
      assertEquals(List.of(), left.toList());
    }
  }

  @Test
  void withoutItNothingIsRestarted() throws Exception {
    for (String restart : List.of("none", "")) {
      Map<String, Object> more = Json.of("needs", List.of("tomcat"), "restart", restart);
      bench.plan("t" + restart.length(), "ok", more);
    }
    run();
    assertEquals(List.of(), nodes.newStarts());
    assertEquals(start("t0"), start("t4"));
    assertEquals(List.of(), blockStarts("t0"));
  }

  @Test
  void aRunnerThatGoesOnInTheMidstOfABlockKeepsItsStart() throws Exception {
    plan("b1-t1", "ok", 1);
    plan("b1-t2", "ok", 1);
    run("--last", "b1-t1");
    run();
    assertEquals(List.of(TOMCAT), nodes.newStarts());
    assertEquals(start("b1-t1"), start("b1-t2"));
  }

  @Test
  void aStartThatAnotherRunHasUsedIsNotKept() throws Exception {
    plan("b1-t1", "ok", 1);
    plan("b1-t2", "ok", 1);
    plan("b1-t3", "ok", 1);
    run("--last", "b1-t1");
    runAnother(List.of("tomcat"));
    run("--last", "b1-t2");
    run();
    assertEquals(List.of(TOMCAT, TOMCAT), nodes.newStarts());
    assertNotEquals(start("b1-t1"), start("b1-t2"));
    Map<?, ?> done = (Map<?, ?>) blockStarts("b1-t2").get(0);
    assertEquals(List.of(TOMCAT), done.get("restarted"));
    assertTrue((int) done.get("warm_cells") > 0, done.toString());
    assertEquals(start("b1-t2"), start("b1-t3"));
  }

  @Test
  void aStartIsKeptIfTheOtherRunNeededNoService() throws Exception {
    plan("b1-t1", "ok", 1);
    plan("b1-t2", "ok", 1);
    run("--last", "b1-t1");
    runAnother(List.of());
    run();
    assertEquals(List.of(TOMCAT), nodes.newStarts());
    assertEquals(start("b1-t1"), start("b1-t2"));
  }

  private void runAnother(List<String> needs) throws Exception {
    Bench another = new Bench(bench, "another");
    another.plan("t1", "ok", Map.of("needs", needs));
    Bench.Ended ended = another.runner();
    assertEquals(0, ended.status(), ended.output());
    assertEquals("ok", another.trial("t1").get("outcome"));
  }

  @Test
  void aServiceThatBeganAnewByItselfIsWarmedAndNotRestarted() throws Exception {
    plan("b1-t1", "ok", 1);
    plan("b1-t2", "ok", 1);
    run("--last", "b1-t1");
    nodes.end(TOMCAT, "signal killed KILL");
    nodes.begin(TOMCAT);
    run();
    assertEquals(List.of(TOMCAT), nodes.newStarts());
    assertNotEquals(start("b1-t1"), start("b1-t2"));
    Map<?, ?> done = (Map<?, ?>) blockStarts("b1-t2").get(0);
    assertEquals(List.of(), done.get("restarted"));
    assertEquals(2, done.get("warm_cells"));
  }

  @Test
  void aBlockThatIsMadeUpForLaterSharesNoStart() throws Exception {
    plan("b1-t1", "ok", 1);
    plan("b1-t2", "ok", 1);
    plan("b2-t3", "ok", 2);
    run("--last", "b1-t1");
    run("--first", "b2-t3");
    run();
    assertEquals(3, nodes.newStarts().size());
    assertNotEquals(start("b2-t3"), start("b1-t2"));
  }

  @Test
  void aRunnerThatIsKilledWhileItWarmsBeginsTheBlockAgain() throws Exception {
    plan("b1-t1", "hang-once", 1);
    Process runner = bench.start();
    final ProcessHandle warming = bench.puppet();
    runner.destroyForcibly().waitFor();
    Bench.await(() -> !warming.isAlive());
    Files.createFile(root.resolve("go"));
    run();
    assertEquals(List.of(TOMCAT, TOMCAT), nodes.newStarts());
    assertEquals("ok", bench.trial("b1-t1").get("outcome"));
    assertEquals(1, bench.trial("b1-t1").get("attempt"));
  }

  @Test
  void aProcessThatAClientLeavesEndsWithTheWarming() throws Exception {
    plan("b1-t1", "helper", 1);
    run();
    List<String> helpers = Files.readAllLines(root.resolve("helpers"));
    assertEquals(2, helpers.size(), "one of the warming, and one of the trial");
    for (String helper : helpers) {
      Optional<ProcessHandle> left = ProcessHandle.of(Long.parseLong(helper));
      Bench.await(() -> left.filter(ProcessHandle::isAlive).isEmpty());
    }
  }

  @Test
  void aCellThatFailsKeepsNoOtherFromWarming() throws Exception {
    plan("b1-t1", "mixed", 1);
    plan("b1-t2", "ok", 1);
    run();
    Map<?, ?> done = (Map<?, ?>) blockStarts("b1-t1").get(0);
    assertEquals(1, done.get("warm_cells"));
    assertEquals("ok", bench.trial("b1-t2").get("outcome"));
  }

  @Test
  void aCellWithWrongAnswersIsNotWarmed() throws Exception {
    plan("b1-t1", "ok", 1);
    plan("b1-t2", "all-wrong", 1);
    run();
    Map<?, ?> done = (Map<?, ?>) blockStarts("b1-t1").get(0);
    assertEquals(1, done.get("warm_cells"));
    assertEquals(List.of("b1-t2"), done.get("not_warmed"));
  }

  @Test
  void aCellThatFailsMayPrintAnyBytes() throws Exception {
    plan("b1-t1", "garbled", 1);
    run();
    Map<?, ?> done = (Map<?, ?>) blockStarts("b1-t1").get(0);
    assertEquals(List.of("b1-t1"), done.get("not_warmed"));
    assertEquals("failed", bench.trial("b1-t1").get("outcome"));
  }

  @Test
  void aCellThatFailsIsTriedAgainInEachBlockAndNamed() throws Exception {
    for (int block : List.of(1, 2)) {
      plan("b" + block + "-t1", "ok", block);
      plan("b" + block + "-t2", "mixed", block);
    }
    run();
    for (int block : List.of(1, 2)) {
      Map<?, ?> done = (Map<?, ?>) blockStarts("b" + block + "-t1").get(0);
      assertEquals(1, done.get("warm_cells"));
      assertEquals(List.of("b" + block + "-t2"), done.get("not_warmed"));
    }
  }

  @Test
  void aNodeThatRefusesPutsTheTrialsOff() throws Exception {
    plan("b1-t1", "ok", 1);
    bench.plan("t2", "ok");
    Files.writeString(root.resolve("restart.password"), "another");
    Bench.Ended ended = bench.runner();
    assertEquals(4, ended.status(), ended.output());
    assertFalse(Files.exists(bench.sealed("b1-t1")));
    assertEquals("ok", bench.trial("t2").get("outcome"));
    String reason = bench.state().get("reason").toString();
    assertTrue(reason.contains("worker1 cannot restart tomcat: it has another password"), reason);
  }

  @Test
  void aClientNodeWithoutThePasswordIsRefused() throws Exception {
    plan("b1-t1", "ok", 1);
    Files.write(
        root.resolve("lab.json"), Json.bytes(withoutPassword(Json.read(root.resolve("lab.json")))));
    Bench.Ended ended = bench.runner();
    assertEquals(2, ended.status());
    assertTrue(ended.output().contains("run site.yml again"), ended.output());
  }

  private static Map<String, Object> withoutPassword(Map<String, Object> lab) {
    lab.remove("restart_password_file");
    return lab;
  }
}
