package org.rackbench.harness.runner;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.PlannedTrial;
import org.rackbench.harness.trial.Trial;
import org.rackbench.harness.trial.Utc;

/**
 * Makes attempts at trials: starts the JVM, asks the servers how they are before and after, and
 * either seals the result or throws it away when a fault of the lab spoilt it.
 */
final class Attempts {

  /**
   * Pause in milliseconds before the second look: a client may notice the end of a service before
   * systemd has recorded it.
   */
  private static final int SECOND_LOOK_MS = 1000;

  private final RunnerOptions options;
  private final WorkArea area;
  private final RunState state;
  private final LabWatch watch;

  Attempts(RunnerOptions options, WorkArea area, RunState state, LabWatch watch) {
    this.options = options;
    this.area = area;
    this.state = state;
    this.watch = watch;
  }

  /**
   * The result of an attempt.
   *
   * @param isSealed false when it was thrown away
   * @param line the line to print for it
   * @param fault why it was thrown away, or ""
   */
  record Made(boolean isSealed, String line, String fault) {}

  /**
   * Makes one attempt at {@code trial} and returns its result.
   *
   * @param before a look at the servers, all of them well
   */
  Made make(PlannedTrial trial, Look before) throws IOException, InterruptedException {
    final long begin = before.began();
    final String startedAt = Utc.now();
    Path attempt = area.begin(trial.id());
    int number = area.attempt(trial.id());
    Files.write(attempt.resolve(Trial.PLAN), Json.bytes(trial.line()));
    Fork fork = Fork.start(trial, attempt, options.clients(), options.lab());
    final long launched = System.nanoTime();
    area.note(attempt, fork.handle());
    state.started(trial.id(), number); // while the JVM starts, so it costs the trial nothing
    boolean ended = fork.await(trial.timeoutSeconds(), () -> watch.isDisturbed(trial, before));
    final long exited = System.nanoTime();
    TrialRecord record = TrialRecord.of(trial, attempt, fork, ended);
    Look after = watch.look(trial);
    if (!record.outcome().equals("ok") && !trial.needs().isEmpty()) {
      Thread.sleep(SECOND_LOOK_MS);
      after = watch.lookAgain(trial, after);
    }
    String missed = after.missed(before);
    if (!after.isServed()) {
      after = watch.whenWell(trial, after); // only then is it known how a service ended
      missed = missed.isEmpty() ? after.missed(before) : missed;
    }
    String memory = after.memory(before);
    if (!memory.isEmpty()) {
      record = record.outOfMemory(memory);
    } else if (!missed.isEmpty()) {
      area.throwAway(attempt, number, missed);
      state.thrownAway();
      return new Made(
          false, "%s attempt %d thrown away: %s".formatted(trial.id(), number, missed), missed);
    }
    if (Files.size(attempt.resolve(Fork.LOG)) == 0) {
      Files.delete(attempt.resolve(Fork.LOG));
    }
    record.write(
        number,
        area.earlier(attempt),
        startedAt,
        fork,
        after.interference(before),
        watch.restarts(),
        Json.of(
            "launch", millis(launched - begin),
            "jvm", millis(exited - launched),
            "seal", millis(System.nanoTime() - exited)));
    area.seal(attempt, trial.id());
    state.sealed(trial.id(), record.outcome());
    long outside = System.nanoTime() - exited + launched - begin;
    state.outside(outside);
    return new Made(
        true,
        String.format(
            Locale.ROOT,
            "%s %s%s in %.1f s (%.1f ms outside its JVM)",
            trial.id(),
            record.outcome(),
            record.reason().isEmpty() ? "" : " (" + record.reason() + ")",
            (exited - begin) / 1e9,
            outside / 1e6),
        "");
  }

  private static double millis(long nanos) {
    return nanos / 1e6;
  }
}
