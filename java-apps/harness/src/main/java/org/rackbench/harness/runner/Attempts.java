package org.rackbench.harness.runner;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.UnknownHostException;
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
 * Makes attempts at trials: starts the JVM, checks the health of the servers before and after, and
 * either seals the result or, if a fault of the lab spoilt it, throws it away.
 */
final class Attempts {

  /**
   * Pause in milliseconds before the second health check: a client may notice the end of a service
   * before systemd has recorded it.
   */
  private static final int SECOND_LOOK_MS = 1000;

  private final RunnerOptions options;
  private final WorkArea area;
  private final RunState state;
  private final LabWatch watch;
  private final Leftover leftover;
  private final Observers observers;
  private final Supplier<List<Map<String, Object>>> newStarts;
  private final String host;

  /**
   * Asks the resolver for this node's name only once, because an answer may take long.
   *
   * @param newStarts supplies the record of how services were restarted for the block
   */
  Attempts(
      RunnerOptions options,
      WorkArea area,
      RunState state,
      LabWatch watch,
      Leftover leftover,
      Observers observers,
      Supplier<List<Map<String, Object>>> newStarts)
      throws UnknownHostException {
    this.options = options;
    this.area = area;
    this.state = state;
    this.watch = watch;
    this.leftover = leftover;
    this.observers = observers;
    this.newStarts = newStarts;
    this.host = InetAddress.getLocalHost().getHostName();
  }

  /**
   * The result of an attempt.
   *
   * @param isSealed false if it was thrown away
   * @param line the line to print for it
   * @param fault why it was thrown away, or ""
   */
  record Made(boolean isSealed, String line, String fault) {}

  /**
   * Makes one attempt at {@code trial} and returns its result.
   *
   * @param before a health check that found all servers well
   * @param begin start of the time spent on this trial alone, as of {@link System#nanoTime}
   */
  Made make(PlannedTrial trial, Look before, long begin) throws IOException, InterruptedException {
    final String startedAt = Utc.now();
    Path attempt = area.begin(trial.id());
    int number = area.attempt(trial.id());
    Files.write(attempt.resolve(Trial.PLAN), Json.bytes(trial.line()));
    Observation seen = new Observation(trial, attempt, before);
    observers.before(seen);
    Fork fork =
        Fork.start(
            options.jdk(trial),
            trial,
            attempt,
            options.client(trial),
            options.lab(),
            seen.arguments());
    seen.started(fork);
    area.note(attempt, fork.handle());
    state.started(trial.id(), number); // while the JVM starts, so it costs the trial nothing
    TrialWatch during = new TrialWatch(watch::look, trial, before);
    Fork.End end = fork.await(trial.timeoutSeconds(), options.lookSeconds(), during::isSpoilt);
    final long exited = System.nanoTime();
    fork.boundLog();
    String fault = end == Fork.End.ENDED ? killed(trial, fork) : during.fault();
    TrialRecord ofJvm =
        fault.isEmpty()
            ? TrialRecord.of(trial, attempt, fork, end == Fork.End.BOUND)
            : TrialRecord.spoilt(trial, attempt, fault);
    seen.ended(ofJvm);
    final Observers.Entries observed = observers.after(seen); // while the nodes are checked
    boolean isOutcome = end == Fork.End.ENDED && fork.isProgram() && hadBefore(attempt, fault);
    Aftermath after = aftermath(seen, during, isOutcome ? "" : fault);
    seen.checked(after.look());
    Map<String, Object> entries = observed.join();
    if (after.isSpoilt()) {
      return thrownAway(trial, attempt, number, after.fault());
    }
    if (Files.size(attempt.resolve(Fork.LOG)) == 0) {
      Files.delete(attempt.resolve(Fork.LOG));
    }
    entries.putAll(after.entries());
    entries.putAll(own(attempt, number, startedAt, before));
    entries.put(
        "fork_ms",
        Json.of(
            "launch", millis(seen.launched() - begin),
            "jvm", millis(exited - seen.launched()),
            "seal", millis(System.nanoTime() - exited)));
    TrialRecord record = after.record();
    record.write(fork, entries);
    area.seal(attempt, trial.id());
    state.sealed(trial.id(), record.outcome());
    long outside = System.nanoTime() - exited + seen.launched() - begin;
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

  /** Throws away an attempt that a fault of the lab spoilt. */
  private Made thrownAway(PlannedTrial trial, Path attempt, int number, String fault)
      throws IOException {
    area.throwAway(attempt, number, fault);
    state.thrownAway();
    String line = "%s attempt %d discarded: %s".formatted(trial.id(), number, fault);
    return new Made(false, line, fault);
  }

  /** Returns the attempt's own entries of trial.json; takes the restarts that nobody recorded. */
  private Map<String, Object> own(Path attempt, int number, String startedAt, Look before)
      throws IOException {
    return Json.of(
        "attempt", number,
        "earlier_attempts", area.earlier(attempt),
        "started_at", startedAt,
        "host", host,
        "restarts", watch.restarts(),
        "services", before.invocations(),
        "block_starts", newStarts.get());
  }

  /**
   * The result of the health checks after the JVM's end.
   *
   * @param fault why the attempt does not count, or ""
   * @param entries entries of trial.json about work that the trial left to its services
   */
  private record Aftermath(
      Look look, TrialRecord record, String fault, Map<String, Object> entries) {

    boolean isSpoilt() {
      return !fault.isEmpty();
    }
  }

  /**
   * Checks the servers until it is known how the attempt ended for them. A trial that may have left
   * work to its services ends only when they are done. If one ends before that, the trial's outcome
   * follows from it.
   */
  private Aftermath aftermath(Observation seen, TrialWatch during, String faultOfJvm)
      throws IOException, InterruptedException {
    PlannedTrial trial = seen.trial();
    Look before = seen.lookBefore();
    TrialRecord record = seen.record();
    String fault = faultOfJvm;
    Map<String, Object> entries = Map.of();
    Look after = record.isOk() ? watch.lookPatiently(trial) : watch.look(trial);
    if (!record.isOk() && !trial.needs().isEmpty()) {
      Thread.sleep(SECOND_LOOK_MS);
      after = watch.lookAgain(trial, after);
      fault = fault.isEmpty() ? during.doubt() : fault;
    }
    if (record.mayHaveLeftWork() && after.away().isEmpty() && !after.used().isEmpty()) {
      Leftover.Settled settled = leftover.settle(trial, after);
      after = settled.look();
      entries = settled.entries();
    }
    fault = fault.isEmpty() ? after.missed(before) : fault;
    if (!after.isServed()) {
      after = watch.whenWell(trial, after); // only now is it known how a service ended
      fault = fault.isEmpty() ? after.missed(before) : fault;
    }
    if (fault.isEmpty()
        && record.isSetUpFailure()
        && !hadBefore(seen.directory(), Trial.SET_UP_FAILED)) {
      fault = record.reason();
    }
    String memory = after.memory(before);
    return memory.isEmpty()
        ? new Aftermath(after, record, fault, entries)
        : new Aftermath(after, record.outOfMemory(memory), "", entries);
  }

  /**
   * Returns whether an earlier attempt was thrown away for such a reason. A client that cannot be
   * opened counts only the second time, because a cable that was out for some seconds between two
   * health checks leaves no other trace. So does a command that ends as if by a signal, as one that
   * kills its own tool does.
   */
  private boolean hadBefore(Path attempt, String reason) throws IOException {
    return area.earlier(attempt).stream()
        .anyMatch(note -> ((String) note.get("reason")).startsWith(reason));
  }

  /** Returns the probable cause of a JVM's end from outside, in a sentence, or "". */
  private static String killed(PlannedTrial trial, Fork fork) {
    String signal = fork.killer();
    if (signal.isEmpty()) {
      return "";
    } else if (fork.isProgram()) {
      return ("%s ended the client's command or its JVM (status %d): by hand, or by the kernel"
              + " when memory ran out (the node has %s); look for oom-kill in the node's journal")
          .formatted(signal, fork.exitStatus(), memory());
    }
    return ("%s ended the client's JVM (status %d): by hand, or by the kernel when memory ran out"
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
