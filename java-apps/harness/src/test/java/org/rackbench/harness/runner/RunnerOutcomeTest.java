package org.rackbench.harness.runner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rackbench.harness.trial.CallLog;

/** The outcomes of trials, by real runner processes and real trial JVMs. */
class RunnerOutcomeTest {

  @TempDir Path root;
  private Bench bench;

  @BeforeEach
  void makeBench() throws Exception {
    bench = new Bench(root);
  }

  @Test
  void sealsAGoodTrialWithItsLog() throws Exception {
    bench.plan("t1-ok", "ok");
    Bench.Ended runner = bench.runner();
    assertEquals(0, runner.status(), runner.output());
    List<String> calls = bench.calls("t1-ok");
    assertEquals(CallLog.HEADER.strip(), calls.get(0));
    assertTrue(calls.get(1).matches("0,0,warmup,,[0-9]+,[0-9]+,10,20,ok"), calls.get(1));
    assertTrue(calls.get(2).startsWith("1,0,warmup,,"), calls.get(2));
    assertEquals(5, bench.measured("t1-ok").size());
    Map<String, Object> trial = bench.trial("t1-ok");
    assertEquals("ok", trial.get("outcome"));
    assertEquals("", trial.get("reason"));
    assertEquals(calls.size() - 1, trial.get("calls_rows"));
    assertEquals(1, trial.get("attempt"));
    assertEquals(1L << 62, trial.get("seed"));
    assertEquals(Map.of("link_mbit", 100), trial.get("node"));
    assertEquals(3.0, trial.get("request_header_bytes"));
    assertEquals(null, trial.get("response_header_bytes"));
    byte[] bytes = Files.readAllBytes(bench.sealed("t1-ok").resolve("calls.csv"));
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(bytes);
    assertEquals(HexFormat.of().formatHex(digest), trial.get("calls_sha256"));
    assertTrue(trial.get("started_at").toString().matches("....-..-..T..:..:..\\.[0-9]{6}Z"));
    assertEquals(List.of("calls.csv", "trial.json"), names("t1-ok"));
    assertEquals("finished", bench.state().get("state"));
    assertEquals(1, bench.state().get("sealed"));
  }

  @Test
  void failedCallsAreRows() throws Exception {
    bench.plan("t1", "mixed");
    bench.runner();
    List<String> calls = bench.measured("t1");
    assertTrue(calls.get(0).endsWith(",ok"), calls.get(0));
    assertTrue(calls.get(1).endsWith(",timeout"), calls.get(1));
    assertTrue(calls.get(2).endsWith(",error"), calls.get(2));
    assertTrue(calls.get(3).endsWith(",wrong"), calls.get(3));
    assertTrue(calls.get(4).endsWith(",ok"), calls.get(4));
    assertEquals("ok", bench.trial("t1").get("outcome"));
    String errors = bench.trial("t1").get("errors").toString();
    String seq = calls.get(2).substring(0, calls.get(2).indexOf(','));
    assertTrue(errors.contains("seq=" + seq) && errors.contains("a fault"), errors);
  }

  @Test
  void aTrialOfWhichTooFewCallsWereOkIsFailedAndKeepsItsRows() throws Exception {
    bench.plan("t1", "mixed", Map.of("least_ok", 0.4)); // two of five are
    bench.plan("t2", "mixed", Map.of("least_ok", 0.41));
    bench.plan("t3", "ok", Map.of("least_ok", 1));
    bench.plan("t4", "all-wrong", Map.of("least_ok", 0.9));
    assertEquals(0, bench.runner().status());
    assertOutcome("t1", "ok", "");
    assertOutcome("t2", "failed", "2 of 5 measured calls were ok, fewer than least_ok = 0.41");
    assertEquals(5, bench.measured("t2").size());
    assertOutcome("t3", "ok", "");
    assertOutcome("t4", "failed", "no measured call was ok");
  }

  @Test
  void thePartsOfGoodCallsAreSealedWhenTheStudyAsksForThem() throws Exception {
    bench.plan("t1", "mixed", Map.of("constants", Map.of("parts", true)));
    bench.plan("t2", "mixed", Map.of("constants", Map.of("parts", false)));
    bench.runner();
    Path file = bench.sealed("t1").resolve("parts.csv");
    List<String> rows = Files.readAllLines(file);
    assertEquals(3, rows.size(), rows.toString()); // of five calls three were bad
    List<String> calls = bench.measured("t1");
    for (int good : new int[] {0, 4}) {
      String seq = calls.get(good).substring(0, calls.get(good).indexOf(','));
      String row = rows.get(good == 0 ? 1 : 2);
      assertTrue(row.matches(seq + ",,,[0-9]+,"), rows.toString());
    }
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file));
    Map<String, Object> seal =
        Map.of("file", "parts.csv", "rows", 2, "sha256", HexFormat.of().formatHex(digest));
    assertEquals(seal, bench.trial("t1").get("parts"));
    assertEquals(List.of("calls.csv", "trial.json", "trial.log"), names("t2"));
    assertNull(bench.trial("t2").get("parts"));
  }

  @Test
  void aLogLargerThanTheHeapOfTheRunnerIsSealed() throws Exception {
    int calls = 2_000_000;
    Map<String, Object> constants = new TreeMap<>(Map.of("client_heap_mb", 512));
    bench.plan("t1", "ok", Map.of("calls", calls, "constants", constants));
    Bench.Ended runner = bench.runner();
    assertEquals(0, runner.status(), runner.output());
    assertTrue((int) bench.trial("t1").get("calls_rows") >= 2 + calls);
    assertTrue(Files.size(bench.sealed("t1").resolve("calls.csv")) > Bench.RUNNER_HEAP_MB << 20);
  }

  @Test
  void eachThreadMakesAllItsCalls() throws Exception {
    bench.plan("t1", "ok", Map.of("threads", 30));
    bench.runner();
    List<String> calls = bench.calls("t1");
    long warmup = calls.stream().filter(row -> row.contains(",warmup,")).count();
    assertTrue(warmup >= 30 * 2, warmup + " rows");
    assertEquals(30 * 5, calls.stream().filter(row -> row.contains(",measure,")).count());
    long cooldown = calls.stream().filter(row -> row.contains(",cooldown,")).count();
    assertEquals(1 + warmup + 30 * 5 + cooldown, calls.size());
    Map<?, ?> recorded = (Map<?, ?>) bench.trial("t1").get("cooldown");
    assertEquals((int) cooldown, recorded.get("rows"));
    recorded = (Map<?, ?>) bench.trial("t1").get("warmup");
    assertEquals(2, recorded.get("calls"));
    assertEquals((int) warmup, recorded.get("rows"));
    assertTrue((int) recorded.get("lead_calls") >= warmup - 30 * 2, recorded.toString());
    assertEquals(null, recorded.get("steady"));
    assertTrue(calls.get(1 + 31).startsWith("31,1,warmup,"), calls.get(32));
    String first = warmup + ",0,measure,";
    assertTrue(calls.get((int) (1 + warmup)).startsWith(first), calls.get((int) (1 + warmup)));
  }

  @Test
  void theCallsDecideHowLongTheWarmupIs() throws Exception {
    Map<String, Object> rule = Map.of("least", 60, "most", 20_000, "steady", 0.5);
    bench.plan("t1", "ok", Map.of("warmup", rule));
    bench.plan("t2", "ok", Map.of("warmup", Map.of("least", 2, "most", 3, "steady", 0.1)));
    bench.runner();
    Map<?, ?> first = (Map<?, ?>) bench.trial("t1").get("warmup");
    assertTrue((int) first.get("calls") >= 60, first.toString());
    Map<?, ?> cooldown = (Map<?, ?>) bench.trial("t1").get("cooldown");
    assertEquals(
        (int) first.get("rows") + 5 + (int) cooldown.get("rows"),
        bench.trial("t1").get("calls_rows"));
    Map<?, ?> second = (Map<?, ?>) bench.trial("t2").get("warmup");
    assertEquals(3, second.get("calls"));
    assertEquals(false, second.get("steady"));
  }

  @Test
  void aBadTrialIsAnOutcomeAndTheRunGoesOn() throws Exception {
    bench.plan("t1", "set-up");
    bench.plan("t2", "all-wrong");
    bench.plan("t3", "memory");
    bench.plan("t4", "ok", Map.of("constants", Map.of("jvm_options", List.of("-XX:NoSuch"))));
    bench.plan("t5", "ok", Map.of("constants", new TreeMap<>(Map.of("call_timeout_s", "soon"))));
    bench.plan("t6", "error");
    bench.plan("t7", "ok");
    bench.plan("t8", "server-memory");
    Bench.Ended runner = bench.runner();
    assertEquals(0, runner.status(), runner.output());
    assertOutcome("t1", "failed", "set-up failed: IOException: no server there");
    assertEquals(2, bench.trial("t1").get("attempt"), "a set-up that failed is tried once more");
    assertEquals(1, bench.trial("t2").get("attempt"));
    assertOutcome("t2", "failed", "no measured call was ok");
    assertEquals(5, bench.measured("t2").size());
    assertOutcome("t3", "oom", "the client's JVM ran out of memory (heap 32 MiB)");
    assertOutcome("t4", "failed", "status 1 before it left a result");
    assertTrue(names("t4").contains("trial.log"));
    assertOutcome("t5", "failed", "call_timeout_s is soon");
    assertOutcome("t6", "failed", "NoClassDefFoundError: a.missing.Jar");
    assertOutcome("t7", "ok", "");
    assertEquals(
        "the server http://worker1/axis ran out of memory: Java heap space",
        bench.trial("t8").get("reason"));
    assertEquals("oom", bench.trial("t8").get("outcome"));
    assertEquals(0, bench.trial("t3").get("calls_rows"));
    assertEquals(List.of(CallLog.HEADER.strip()), bench.calls("t3"));
  }

  @Test
  void temporaryFilesLieInTheAttemptAndAreNotSealed() throws Exception {
    bench.plan("t1", "temporary");
    Bench.Ended runner = bench.runner();
    assertEquals(0, runner.status(), runner.output());
    assertEquals(List.of("calls.csv", "trial.json", "trial.log"), names("t1"));
    for (String file : Files.readAllLines(bench.sealed("t1").resolve("trial.log"))) {
      assertTrue(file.contains("/" + Path.of("work", "t1.1", "tmp", "Axis")), file);
    }
    List<?> options = (List<?>) ((Map<?, ?>) bench.trial("t1").get("jvm")).get("options");
    assertTrue(options.contains("-XX:+PerfDisableSharedMem"), options.toString());
    assertFalse(options.toString().contains("tmpdir"), "all trials have the same options");
  }

  @Test
  void aHangingTrialIsEndedAtItsBoundWithItsChildren() throws Exception {
    bench.plan("t1", "hang", Map.of("timeout_s", 2));
    Bench.Ended runner = bench.runner();
    assertEquals(0, runner.status(), runner.output());
    assertOutcome("t1", "timeout", "timeout_s = 2 s");
    long child = Long.parseLong(Files.readString(root.resolve("child.pid")));
    assertFalse(ProcessHandle.of(child).map(ProcessHandle::isAlive).orElse(false));
  }

  @Test
  void aTrialWhoseJvmIsKilledFromOutsideIsRepeated() throws Exception {
    bench.plan("t1", "hang-once");
    Process runner = bench.start();
    bench.puppet().destroyForcibly();
    Files.createFile(root.resolve("go"));
    assertEquals(0, bench.end(runner).status());
    assertOutcome("t1", "ok", "");
    assertEquals(2, bench.trial("t1").get("attempt"));
    String earlier = bench.trial("t1").get("earlier_attempts").toString();
    assertTrue(earlier.contains("SIGKILL ended the client's JVM (status 137)"), earlier);
    assertTrue(earlier.matches("(?s).*heap 32 MiB, the node has [0-9]+ MiB.*"), earlier);
  }

  @Test
  void aTrialWhoseJvmIsAlwaysKilledIsPutOffAfterItsRetries() throws Exception {
    bench.plan("t1", "killed");
    bench.plan("t2", "ok");
    Bench.Ended ended = bench.runner("--retries", "1");
    assertEquals(4, ended.status(), ended.output());
    assertOutcome("t2", "ok", "");
    String putOff = bench.state().get("put_off").toString();
    assertTrue(putOff.contains("2 attempts were spoilt, the last: SIGKILL ended"), putOff);
  }

  @Test
  void aJvmThatCrashesIsAFailedTrial() throws Exception {
    bench.plan("t1", "crash");
    assertEquals(0, bench.runner().status());
    assertOutcome("t1", "failed", "status 134");
    assertEquals(1, bench.trial("t1").get("attempt"));
  }

  @ParameterizedTest
  @CsvSource({"end, 0", "end-full, 5"})
  void aClientThatEndsItsJvmWithoutAResultIsAFailedTrial(String part, int status) throws Exception {
    bench.plan("t1", part);
    bench.plan("t2", "ok");
    Bench.Ended runner = bench.runner();
    assertEquals(0, runner.status(), runner.output());
    String reason = "the JVM ended with status %d before it left a result".formatted(status);
    assertOutcome("t1", "failed", reason);
    assertEquals(List.of("calls.csv", "trial.json"), names("t1"));
    assertOutcome("t2", "ok", "");
  }

  @Test
  void aClientThatExitsItsJvmIsAFailedTrialAndNoTimeout() throws Exception {
    bench.plan("t1", "exit", Map.of("timeout_s", 15));
    Bench.Ended runner = bench.runner();
    assertEquals(0, runner.status(), runner.output());
    assertOutcome(
        "t1",
        "failed",
        "the JVM ended with status 8 before it left a result: the client called System.exit");
  }

  @Test
  void aClientThatExitsItsJvmAfterSigtermIsAFailedTrialAndNoTimeout() throws Exception {
    bench.plan("t1", "exit-later", Map.of("timeout_s", 15));
    Process runner = bench.start();
    Bench.signal("TERM", bench.puppet().pid());
    Files.createFile(root.resolve("go"));
    assertEquals(0, bench.end(runner).status());
    assertOutcome("t1", "failed", "the client called System.exit");
  }

  @Test
  void aClientThatHangsWhenItIsClosedLosesNoCall() throws Exception {
    bench.plan("t1", "hang-at-close", Map.of("timeout_s", 15));
    assertEquals(0, bench.runner().status());
    assertOutcome("t1", "ok", "");
    assertEquals(5, bench.measured("t1").size());
  }

  @Test
  void oneCallThatHangsIsOneRow() throws Exception {
    bench.plan(
        "t1", "one-late", Map.of("constants", Map.of("client_heap_mb", 32), "timeout_s", 15));
    assertEquals(0, bench.runner().status());
    assertOutcome("t1", "ok", "");
    List<String> calls = bench.measured("t1");
    assertEquals(1, calls.stream().filter(row -> row.endsWith(",timeout")).count());
    assertEquals(4, calls.stream().filter(row -> row.endsWith(",ok")).count());
  }

  @Test
  void manyCallsThatHangLeaveTheirRows() throws Exception {
    Map<String, Object> constants = Map.of("client_heap_mb", 32, "call_timeout_s", 1.6);
    bench.plan("t1", "late", Map.of("constants", constants, "timeout_s", 12));
    assertEquals(0, bench.runner().status());
    assertOutcome("t1", "timeout", "measured calls were made 2.4 s before the end");
    int rows = (int) bench.trial("t1").get("calls_rows");
    assertTrue(rows >= 3 && rows < 7, rows + " rows");
    assertEquals(rows + 1, bench.calls("t1").size());
  }

  @Test
  void theTimeoutOfACallIsInSeconds() throws Exception {
    bench.plan("t1", "tell-timeout");
    bench.runner();
    String log = Files.readString(bench.sealed("t1").resolve("trial.log"));
    assertTrue(log.startsWith("PT0.2S"), log);
  }

  @Test
  void collectionsBeforeTheMeasuringAreNotCounted() throws Exception {
    bench.plan("t1", "collect-first");
    bench.runner();
    assertEquals(0, ((Map<?, ?>) bench.trial("t1").get("gc")).get("count"));
  }

  @Test
  void whatTheJvmDidInEachPhaseIsRecordedUnlessNothingIsObserved() throws Exception {
    bench.plan("t1", "collect-first", Map.of("warmup", 5));
    bench.plan("t2", "ok", Map.of("constants", Map.of("observe", "none")));
    bench.runner();
    Map<?, ?> phases = (Map<?, ?>) bench.trial("t1").get("phases");
    for (String phase : List.of("warmup", "measure")) {
      Map<?, ?> did = (Map<?, ?>) phases.get(phase);
      assertEquals(
          Set.of("elapsed_ns", "compile_ms", "classes_loaded", "gc_count", "gc_ms"), did.keySet());
      assertTrue(((Number) did.get("elapsed_ns")).longValue() > 0, did.toString());
      did.values().forEach(value -> assertTrue(((Number) value).longValue() >= 0, did.toString()));
    }
    assertEquals(null, bench.trial("t2").get("phases"));
    assertEquals(null, bench.trial("t2").get("gc"));
  }

  @Test
  void ofALogLargerThanTheHeapOfTheRunnerHeadAndTailAreKept() throws Exception {
    bench.plan("t1", "flood");
    bench.plan("t2", "ok");
    Bench.Ended runner = bench.runner();
    assertEquals(0, runner.status(), runner.output());
    assertOutcome("t1", "failed", "status 9 before it left a result: last words");
    assertOutcome("t2", "ok", "");
    String log = Files.readString(bench.sealed("t1").resolve("trial.log"));
    assertTrue(log.startsWith("first words\nxxx"), log.substring(0, 20));
    assertTrue(log.endsWith("xxx\nlast words\n"), log.substring(log.length() - 20));
    int kept = Fork.HEAD_BYTES + Fork.TAIL_BYTES;
    int cut = Puppet.FLOOD_BYTES + "first words\nlast words\n".length() - kept;
    String gap = "\n[%d bytes of the log were cut here]\n".formatted(cut);
    assertEquals(Fork.HEAD_BYTES, log.indexOf(gap));
    assertEquals(kept + gap.length(), log.length());
  }

  @Test
  void keepsWhatTheClientPrinted() throws Exception {
    bench.plan("t1", "chatty");
    bench.runner();
    String log = Files.readString(bench.sealed("t1").resolve("trial.log"));
    assertTrue(log.startsWith("said by the client"), log);
    assertTrue(log.contains("closing: IOException: cannot close"), log);
    assertOutcome("t1", "ok", "");
  }

  private void assertOutcome(String id, String outcome, String reason) throws Exception {
    assertEquals(outcome, bench.trial(id).get("outcome"));
    String found = bench.trial(id).get("reason").toString();
    assertTrue(found.contains(reason), found);
  }

  private List<String> names(String id) throws Exception {
    try (var files = Files.list(bench.sealed(id))) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }
}
