package org.rackbench.harness.runner;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
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
  private final Health health;
  private final ServiceSettings settings;
  private final Profiles profiles;
  private final Supplier<List<Map<String, Object>>> newStarts;

  /**
   * @param newStarts gives what was done to have services of the block's own
   */
  Attempts(
      RunnerOptions options,
      WorkArea area,
      RunState state,
      LabWatch watch,
      Health health,
      ServiceSettings settings,
      Profiles profiles,
      Supplier<List<Map<String, Object>>> newStarts) {
    this.options = options;
    this.area = area;
    this.state = state;
    this.watch = watch;
    this.health = health;
    this.settings = settings;
    this.profiles = profiles;
    this.newStarts = newStarts;
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
   * @param begin since when this trial alone has taken time, as of {@link System#nanoTime}
   */
  Made make(PlannedTrial trial, Look before, long begin) throws IOException, InterruptedException {
    final String startedAt = Utc.now();
    Path attempt = area.begin(trial.id());
    int number = area.attempt(trial.id());
    Files.write(attempt.resolve(Trial.PLAN), Json.bytes(trial.line()));
    profiles.start(trial, before);
    PhaseSamples samples = PhaseSamples.of(health, trial, before, attempt);
    Fork fork = Fork.start(trial, attempt, options.clients(), options.lab(), samples.arguments());
    final long launched = System.nanoTime();
    samples.answer(fork);
    area.note(attempt, fork.handle());
    state.started(trial.id(), number); // while the JVM starts, so it costs the trial nothing
    TrialWatch during = new TrialWatch(watch, trial, before);
    Fork.End end = fork.await(trial.timeoutSeconds(), options.lookSeconds(), during::isSpoilt);
    final long exited = System.nanoTime();
    samples.close();
    final Resources resources = Resources.ask(health, trial, before); // while the others look
    String fault = end == Fork.End.ENDED ? killed(trial, fork) : during.fault();
    TrialRecord record =
        fault.isEmpty()
            ? TrialRecord.of(trial, attempt, fork, end == Fork.End.BOUND)
            : TrialRecord.spoilt(trial, attempt, fault);
    List<Map<String, Object>> profiled = profiles.stop(trial, before, attempt, record.profile());
    Look after = record.isOk() ? watch.lookPatiently(trial) : watch.look(trial);
    if (!record.isOk() && !trial.needs().isEmpty()) {
      Thread.sleep(SECOND_LOOK_MS);
      after = watch.lookAgain(trial, after);
      fault = fault.isEmpty() ? during.doubt() : fault;
    }
    fault = fault.isEmpty() ? after.missed(before) : fault;
    if (!after.isServed()) {
      after = watch.whenWell(trial, after); // only then is it known how a service ended
      fault = fault.isEmpty() ? after.missed(before) : fault;
    }
    if (fault.isEmpty() && record.isSetUpFailure() && !hadSetUpFailure(attempt)) {
      fault = record.reason();
    }
    String memory = after.memory(before);
    if (!memory.isEmpty()) {
      record = record.outOfMemory(memory);
    } else if (!fault.isEmpty()) {
      area.throwAway(attempt, number, fault);
      state.thrownAway();
      return new Made(
          false, "%s attempt %d thrown away: %s".formatted(trial.id(), number, fault), fault);
    }
    if (Files.size(attempt.resolve(Fork.LOG)) == 0) {
      Files.delete(attempt.resolve(Fork.LOG));
    }
    Map<String, Object> used = resources.write(attempt, record.origin(launched));
    record.write(
        number,
        area.earlier(attempt),
        startedAt,
        fork,
        after.interference(before),
        watch.restarts(),
        before.invocations(),
        newStarts.get(),
        Json.of(
            "launch", millis(launched - begin),
            "jvm", millis(exited - launched),
            "seal", millis(System.nanoTime() - exited)),
        settings.of(trial, after),
        used,
        profiled);
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

  /**
   * Returns whether an earlier attempt was thrown away since its client could not be opened. Such a
   * failure counts when it happens twice: of a cable that was out for some seconds between two
   * looks there is no other trace.
   */
  private boolean hadSetUpFailure(Path attempt) throws IOException {
    return area.earlier(attempt).stream()
        .anyMatch(note -> ((String) note.get("reason")).startsWith(Trial.SET_UP_FAILED));
  }

  /** Returns who may have killed a JVM that has ended, in a sentence, or "". */
  private static String killed(PlannedTrial trial, Fork fork) {
    String signal = fork.killer();
    if (signal.isEmpty()) {
      return "";
    }
    return ("%s ended the client's JVM (status %d): somebody did, or the kernel for want of memory"
            + " (heap %d MiB, the node has %s); look for oom-kill in the node's journal")
        .formatted(signal, fork.exitStatus(), trial.heapMegabytes(), memory());
  }

  private static String memory() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean machine
        ? "%d MiB".formatted(machine.getTotalMemorySize() >> 20)
        : "an unknown amount";
  }

  private static double millis(long nanos) {
    return nanos / 1e6;
  }
}
