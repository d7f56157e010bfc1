package org.rackbench.harness.runner;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.rackbench.harness.api.ServerOutOfMemory;
import org.rackbench.harness.program.ProgramTrial;
import org.rackbench.harness.trial.BadInput;
import org.rackbench.harness.trial.CallLog;
import org.rackbench.harness.trial.Capture;
import org.rackbench.harness.trial.Durable;
import org.rackbench.harness.trial.ErrorText;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.PlannedTrial;
import org.rackbench.harness.trial.Trial;
import org.rackbench.harness.trial.Utc;

/**
 * Builds {@code trial.json} (schema 2: {@code collect/run/trial.schema.json}) from the plan, the
 * JVM's end and the JVM's result.
 */
final class TrialRecord {

  private static final int SCHEMA = 2;

  /** More than a JVM writes at once, so a disk without room for that has none for this either. */
  private static final int PROBE_BYTES = 64 << 10;

  /** Defaults for missing entries: nothing is known, or there was nothing. */
  private static final Map<String, Object> NOT_CONTRIBUTED =
      Json.of(
          "left_work", null,
          "interference", Map.of(),
          "settings", Map.of(),
          "resources", null,
          "profiles", List.of());

  private final PlannedTrial trial;
  private final Path attempt;
  private final Map<String, Object> result;
  private final String outcome;
  private final String reason;
  private FileSeal callsSeal;

  private TrialRecord(
      PlannedTrial trial, Path attempt, Map<String, Object> result, String outcome, String reason) {
    this.trial = trial;
    this.attempt = attempt;
    this.result = result;
    this.outcome = outcome;
    this.reason = reason;
  }

  /**
   * Returns the record of an attempt whose JVM has ended.
   *
   * @param isBound whether the JVM was killed because it reached its bound
   */
  static TrialRecord of(PlannedTrial trial, Path attempt, Fork fork, boolean isBound)
      throws IOException {
    Map<String, Object> none = Map.of();
    if (isBound) {
      String reason =
          "not done within timeout_s = %d s; the JVM was killed".formatted(trial.timeoutSeconds());
      return new TrialRecord(trial, attempt, none, Trial.TIMEOUT, reason);
    }
    switch (fork.exitStatus()) {
      case 0 -> {
        Map<String, Object> result = result(attempt);
        if (result.get("outcome") instanceof String outcome
            && result.get("reason") instanceof String reason) {
          return new TrialRecord(trial, attempt, result, outcome, reason);
        }
        return withoutResult(trial, attempt, fork);
      }
      case Trial.EXIT_MEMORY -> {
        String reason =
            fork.isProgram()
                ? "the runner ran out of memory while it read the output of the command"
                : "the client's JVM ran out of memory (heap %d MiB)"
                    .formatted(trial.heapMegabytes());
        String named = ServerOutOfMemory.reason(fork.lastLine(), reason);
        return new TrialRecord(trial, attempt, none, "oom", named);
      }
      case Trial.EXIT_IO -> {
        if (fork.cutBytes() > 0) {
          // The client itself filled the disk, so another attempt would end in the same way.
          String reason =
              "the client printed over %d bytes, and the trial's JVM could not write its result"
                  .formatted(fork.cutBytes());
          return new TrialRecord(trial, attempt, none, Trial.FAILED, reason);
        }
        if (fork.lastLine().startsWith(Trial.NOT_WRITTEN)) {
          throw new IOException(fork.lastLine());
        }
        demandWritable(attempt); // a full disk may have no room for that line
        return withoutResult(trial, attempt, fork); // the client ended its JVM with this status
      }
      default -> {
        return withoutResult(trial, attempt, fork);
      }
    }
  }

  /** Throws an exception if this JVM cannot write to the directory of the attempt either. */
  private static void demandWritable(Path attempt) throws IOException {
    Path probe = attempt.resolve("probe");
    try {
      Durable.write(probe, new byte[PROBE_BYTES]);
    } catch (IOException e) {
      throw new IOException(Trial.NOT_WRITTEN + ErrorText.of(e), e);
    }
    Files.delete(probe);
  }

  /** Returns the JVM's result, or an empty one: a client may end its JVM or overwrite the file. */
  private static Map<String, Object> result(Path attempt) throws IOException {
    try {
      return Json.read(attempt.resolve(Trial.RESULT));
    } catch (BadInput e) {
      return Map.of();
    }
  }

  private static TrialRecord withoutResult(PlannedTrial trial, Path attempt, Fork fork)
      throws IOException {
    String words = fork.lastLine();
    String reason =
        "the JVM ended with status %d before it left a result%s"
            .formatted(fork.exitStatus(), words.isEmpty() ? ", without output" : ": " + words);
    return new TrialRecord(trial, attempt, Map.of(), Trial.FAILED, reason);
  }

  /**
   * Returns the record of an attempt that a fault of the lab spoilt; it is used only if that fault
   * was a server's lack of memory.
   */
  static TrialRecord spoilt(PlannedTrial trial, Path attempt, String reason) {
    return new TrialRecord(trial, attempt, Map.of(), Trial.FAILED, reason);
  }

  /** Returns the record of the same attempt for a server's lack of memory. */
  TrialRecord outOfMemory(String sentence) {
    return new TrialRecord(trial, attempt, result, "oom", sentence);
  }

  boolean isOk() {
    return outcome.equals(Trial.OK);
  }

  /** Returns whether no call was made because the client could not be opened. */
  boolean isSetUpFailure() {
    return reason.startsWith(Trial.SET_UP_FAILED);
  }

  String outcome() {
    return outcome;
  }

  /** Returns the trial's JVM's record of its own profile; null if it left no result. */
  Map<?, ?> profile() {
    return (Map<?, ?>) result.get("profile");
  }

  String reason() {
    return reason;
  }

  /**
   * Returns {@code System.nanoTime()} from which the times of the trial count.
   *
   * @param launched the start of the JVM on the same clock, for one that left no result
   */
  long origin(long launched) {
    Object origin = Look.object(result.get("clock")).get(Trial.ORIGIN);
    return origin instanceof Number number ? number.longValue() : launched;
  }

  /**
   * Returns whether services may still work on a call of the trial: the trial was not ok, or one of
   * its calls was cut off.
   */
  boolean mayHaveLeftWork() throws IOException {
    return !isOk() || callsSeal().timeouts() > 0;
  }

  private FileSeal callsSeal() throws IOException {
    if (callsSeal == null) {
      callsSeal = FileSeal.of(attempt.resolve(Trial.CALLS));
    }
    return callsSeal;
  }

  /**
   * Writes trial.json. After a bad outcome it also removes parts.csv, and all lines of calls.csv
   * but the header.
   *
   * @param fork the JVM of the attempt
   * @param entries entries of the runner and the observers
   */
  void write(Fork fork, Map<String, Object> entries) throws IOException {
    Path calls = attempt.resolve(Trial.CALLS);
    if (!result.containsKey("errors")) {
      Files.writeString(calls, CallLog.HEADER);
      callsSeal = null;
      Files.deleteIfExists(attempt.resolve(Trial.PARTS));
    }
    FileSeal seal = callsSeal();
    Map<String, Object> line = trial.line();
    Map<String, Object> record =
        Json.of(
            "schema", SCHEMA,
            "id", trial.id(),
            "study", line.get("study"),
            "profile", line.get("profile"),
            "block", line.get("block"),
            "position", line.get("position"),
            "client", trial.client(),
            "factors", line.get("factors"),
            "constants", line.get("constants"),
            "node", line.getOrDefault("node", Map.of()),
            "seed", trial.seed(),
            "outcome", outcome,
            "reason", reason,
            "ended_at", Utc.now(),
            "jvm", result.getOrDefault("jvm", ownJvm(fork)),
            "calls_rows", seal.rows(),
            "calls_sha256", seal.sha256(),
            "calls_file", Trial.CALLS,
            "errors", result.getOrDefault("errors", List.of()),
            "request_header_bytes", result.get("request_header_bytes"),
            "response_header_bytes", result.get("response_header_bytes"),
            "clock", result.get("clock"),
            "overhead", result.get("overhead"),
            "gc", result.get("gc"),
            "warmup", result.get("warmup"),
            "cooldown", result.get("cooldown"),
            "phases", result.get("phases"),
            "restart", line.getOrDefault("restart", ""),
            "shift", trial.shift(),
            "profiled", trial.isProfiled(),
            "captured", trial.isCaptured(),
            "parts", Files.exists(attempt.resolve(Trial.PARTS)) ? sealed(Trial.PARTS) : null,
            "capture", trial.isCaptured() ? captured() : null,
            "imported", null,
            "arrival", result.get("arrival"),
            "program", result.get("program") instanceof Map<?, ?> said ? program(said) : null);
    record.putAll(NOT_CONTRIBUTED);
    record.putAll(entries);
    Files.write(attempt.resolve("trial.json"), Json.bytes(record));
  }

  /** Returns the record of the packets of the trial's call, or the reason why there is none. */
  private Map<String, Object> captured() throws IOException {
    Map<String, Object> capture = Json.of("missing", "its JVM left no result");
    for (Map.Entry<?, ?> said : Look.object(result.get("capture")).entrySet()) {
      capture.put(said.getKey().toString(), said.getValue());
    }
    Path file = attempt.resolve(Capture.FILE);
    if (Files.exists(file)) {
      capture.put("file", Capture.FILE);
      capture.put("sha256", FileSeal.of(file).sha256());
    }
    return capture;
  }

  /** Returns the record of a program's command, with the seal of its summary. */
  private Map<String, Object> program(Map<?, ?> said) throws IOException {
    Map<String, Object> program = new LinkedHashMap<>();
    said.forEach((key, value) -> program.put(key.toString(), value));
    Path file = attempt.resolve(ProgramTrial.SUMMARY);
    if (said.get("summary") instanceof Map<?, ?> numbers && Files.exists(file)) {
      Map<String, Object> summary = new LinkedHashMap<>();
      numbers.forEach((key, value) -> summary.put(key.toString(), value));
      summary.put("file", ProgramTrial.SUMMARY);
      summary.put("sha256", FileSeal.of(file).sha256());
      program.put("summary", summary);
    }
    return program;
  }

  /** Returns the figures that prove a file of rows under a header line. */
  private Map<String, Object> sealed(String name) throws IOException {
    FileSeal seal = FileSeal.of(attempt.resolve(name));
    return Json.of("file", name, "rows", seal.rows(), "sha256", seal.sha256());
  }

  /** Returns the known data of a JVM that left no result. */
  private Map<String, Object> ownJvm(Fork fork) throws IOException {
    if (fork.isProgram()) {
      return Map.of();
    }
    Map<String, Object> jvm = fork.jdk().told();
    jvm.put("options", fork.options());
    jvm.put("heap_max_bytes", trial.heapMegabytes() * 1024L * 1024L);
    return jvm;
  }
}
