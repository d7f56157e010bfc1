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
 * {@code state.json}: how far the runner is, for whoever follows the run. Not a record: what counts
 * is what is sealed.
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

  /** How many trials are planned. */
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
    write();
  }

  /**
   * Counts what a trial cost outside its JVM, this file included; shown from the next event on.
   *
   * @param nanos time of the runner on the trial while its JVM did not run
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
   * Keeps how the nodes are; written at once when one of them changed, else with what comes next.
   */
  synchronized void saw(Look look) throws IOException {
    if (nodes.takeOver(look)) {
      write();
    }
  }

  /** Says which trials cannot run for now, as id and reason. */
  synchronized void putOff(Map<String, String> reasons) throws IOException {
    List<Object> list = new ArrayList<>();
    reasons.forEach((id, reason) -> list.add(Json.of("id", id, "reason", reason)));
    state.put("put_off", list);
    write();
  }

  /**
   * Says what the runner is: {@code running}, {@code paused}, {@code stopping}, {@code finished},
   * {@code deadline} or {@code failed}, and why.
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
