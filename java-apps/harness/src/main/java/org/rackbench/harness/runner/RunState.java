package org.rackbench.harness.runner;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.rackbench.harness.trial.Durable;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.Utc;

/**
 * {@code state.json}: the progress of the run, for people and programs that follow it. It is not a
 * record of results: only sealed trials count.
 */
final class RunState {

  private final Path file;
  private final Map<String, Object> state;
  private final NodeStates nodes = new NodeStates();
  private long[] outsideNanos = new long[0];

  RunState(Path run, int total, int sealed) {
    file = run.resolve("state.json");
    state =
        Json.of(
            "schema",
            1,
            "run",
            run.getFileName().toString(),
            "state",
            "running",
            "reason",
            "",
            "pid",
            ProcessHandle.current().pid(),
            "running",
            null,
            "attempt",
            null,
            "since",
            Utc.now(),
            "sealed",
            sealed,
            "total",
            total,
            "last",
            null,
            "thrown_away",
            0,
            "put_off",
            new ArrayList<>(),
            "nodes",
            nodes.all(),
            "outside_jvm_ms_p50",
            null,
            "updated_at",
            null);
  }

  /** Returns the number of planned trials. */
  int total() {
    return (int) state.get("total");
  }

  synchronized void started(String id, int attempt) throws IOException {
    state.put("running", id);
    state.put("attempt", attempt);
    state.put("since", Utc.now());
    write();
  }

  synchronized void sealed(String id, String outcome) throws IOException {
    state.put("running", null);
    state.put("attempt", null);
    state.put("since", Utc.now());
    state.put("sealed", (int) state.get("sealed") + 1);
    state.put("last", Json.of("id", id, "outcome", outcome));
    state.put("updated_at", Utc.now());
    Durable.replaceSoon(file, Json.bytes(state)); // the next event soon waits for the disk
  }

  /**
   * Adds the time that a trial cost outside its JVM, including the writing of this file. The file
   * shows it from the next event on.
   *
   * @param nanos nanoseconds that the runner spent on the trial while its JVM did not run
   */
  synchronized void outside(long nanos) {
    outsideNanos = Arrays.copyOf(outsideNanos, outsideNanos.length + 1);
    outsideNanos[outsideNanos.length - 1] = nanos;
    long[] sorted = outsideNanos.clone();
    Arrays.sort(sorted);
    state.put("outside_jvm_ms_p50", sorted[sorted.length / 2] / 1e6);
  }

  /** Counts an attempt that a fault of the lab spoilt. */
  synchronized void thrownAway() throws IOException {
    state.put("running", null);
    state.put("attempt", null);
    state.put("since", Utc.now());
    state.put("thrown_away", (int) state.get("thrown_away") + 1);
    write();
  }

  /**
   * Keeps the state of the nodes. It is written at once if one of them changed, or else with the
   * next event.
   */
  synchronized void saw(Look look) throws IOException {
    if (nodes.takeOver(look)) {
      write();
    }
  }

  /**
   * Records the trials that cannot run for now.
   *
   * @param reasons the reason by id of the trial
   */
  synchronized void putOff(Map<String, String> reasons) throws IOException {
    List<Object> list = new ArrayList<>();
    reasons.forEach((id, reason) -> list.add(Json.of("id", id, "reason", reason)));
    state.put("put_off", list);
    write();
  }

  /**
   * Records the state of the runner: {@code running}, {@code paused}, {@code stopping}, {@code
   * finished}, {@code deadline} or {@code failed}, and why.
   */
  synchronized void become(String word, String reason) throws IOException {
    state.put("state", word);
    state.put("reason", reason);
    state.put("since", Utc.now());
    write();
  }

  private void write() throws IOException {
    state.put("updated_at", Utc.now());
    Durable.replace(file, Json.bytes(state));
  }
}
