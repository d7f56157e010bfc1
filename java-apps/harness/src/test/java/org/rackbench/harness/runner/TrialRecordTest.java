package org.rackbench.harness.runner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rackbench.harness.trial.CallLog;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.PlannedTrial;
import org.rackbench.harness.trial.Trial;
import org.rackbench.harness.trial.Utc;

/** The entries of trial.json from the JVM of a trial, and from the runner. */
class TrialRecordTest {

  private static final Map<String, Object> PHASES = Map.of("warmup", phase(5), "measure", phase(7));

  @TempDir Path root;

  /** Stands in for a trial: it finds its result in its directory. */
  static final class Program {
    public static void main(String[] args) {}
  }

  /** Stands in for a trial that found the disk full. */
  static final class FullDisk {
    public static void main(String[] args) {
      System.err.println(Trial.NOT_WRITTEN + "no space");
      Runtime.getRuntime().halt(Trial.EXIT_IO);
    }
  }

  private static Map<String, Object> phase(int nanos) {
    return Map.of(
        "elapsed_ns", nanos, "compile_ms", 0, "classes_loaded", 0, "gc_count", 0, "gc_ms", 0);
  }

  private Map<String, Object> written(Map<String, Object> more) throws Exception {
    PlannedTrial trial = planned();
    Path attempt = Files.createDirectory(root.resolve("attempt"));
    Files.writeString(attempt.resolve(Trial.CALLS), CallLog.HEADER);
    Map<String, Object> result = Json.of("outcome", "ok", "reason", "", "errors", List.of());
    result.putAll(more);
    Files.write(attempt.resolve(Trial.RESULT), Json.bytes(result));
    Fork fork = ended(Program.class, trial, attempt);
    write(TrialRecord.of(trial, attempt, fork, false), fork);
    TrialSchema.check(attempt.resolve("trial.json"));
    return Json.read(attempt.resolve("trial.json"));
  }

  private PlannedTrial planned() throws Exception {
    Bench bench = new Bench(root);
    bench.plan("t1", "ok");
    return Plan.read(bench.run.resolve("plan.jsonl")).all().get(0);
  }

  private Fork ended(Class<?> program, PlannedTrial trial, Path attempt) throws Exception {
    Path client = root.resolve("clients/" + Bench.CLIENT);
    Fork fork = Fork.start(program, Jdk.own(), trial, attempt, client, root.resolve("lab.json"));
    assertEquals(Fork.End.ENDED, fork.await(60, 60, () -> false));
    return fork;
  }

  private static void write(TrialRecord record, Fork fork) throws IOException {
    record.write(
        fork,
        Json.of(
            "attempt", 3,
            "earlier_attempts", List.of(),
            "started_at", Utc.now(),
            "host", "client1",
            "restarts", List.of(),
            "services", Map.of(),
            "block_starts", List.of(),
            "fork_ms", null));
  }

  @Test
  void thePhasesAreHandedOn() throws Exception {
    Map<String, Object> record = written(Map.of("phases", PHASES));
    assertEquals(PHASES, record.get("phases"));
    assertEquals(3, record.get("attempt"));
    assertEquals(0, record.get("calls_rows"));
  }

  @Test
  void whatNothingIsKnownOfIsThereAndEmpty() throws Exception {
    Map<String, Object> record = written(Map.of());
    assertEquals(2, record.get("schema"));
    assertEquals("", record.get("restart")); // the plan of an earlier version has no such key
    for (String key : List.of("phases", "parts", "resources", "capture", "left_work", "program")) {
      assertTrue(record.containsKey(key), key);
      assertNull(record.get(key), key);
    }
    assertEquals(Map.of(), record.get("settings"));
    assertEquals(List.of(), record.get("profiles"));
    assertEquals(false, record.get("profiled"));
  }

  @Test
  void aDiskThatWasFullIsAFaultOfThisNodeEvenIfItHasRoomAgain() throws Exception {
    PlannedTrial trial = planned();
    Path attempt = Files.createDirectory(root.resolve("attempt"));
    Fork fork = ended(FullDisk.class, trial, attempt);
    IOException fault =
        assertThrows(IOException.class, () -> TrialRecord.of(trial, attempt, fork, false));
    assertEquals(Trial.NOT_WRITTEN + "no space", fault.getMessage());
  }

  @Test
  void aRecordThatLacksAKeyIsNotInTheLayout() throws Exception {
    Map<String, Object> record = written(Map.of());
    record.remove("shift");
    Path lacking = Files.write(root.resolve("lacking.json"), Json.bytes(record));
    assertThrows(AssertionError.class, () -> TrialSchema.check(lacking));
  }
}
