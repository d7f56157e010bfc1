package org.rackbench.harness.runner;

import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.PlannedTrial;

/**
 * Work that an ended trial left to its services: a service may still compute a call that the client
 * has given up. Such work must neither slow down the next trial nor end a service in it.
 */
final class Leftover {

  /** A service that uses less of a processor between two health checks is idle. */
  private static final double IDLE_CORES = 0.05;

  /** Time between the two health checks, over which that share is measured. */
  private static final int STEP_MS = 200;

  private static final int MOST_S = 30;

  /** Consecutive health checks that a node may miss in that time. */
  private static final int MISSES = TrialWatch.MISSES;

  private final LabWatch watch;
  private final long mostNanos;
  private final BooleanSupplier mayWait;

  /** Systemd's id of the start of each service that was still busy at the end. */
  private final Map<String, Object> busy = new HashMap<>();

  private final Set<String> silent = new HashSet<>();

  /**
   * @param recoverSeconds longest wait for a service, which also limits this wait
   * @param mayWait returns false if no further trial is wanted, which ends the wait
   */
  Leftover(LabWatch watch, int recoverSeconds, BooleanSupplier mayWait) {
    this.watch = watch;
    this.mostNanos = TimeUnit.SECONDS.toNanos(Math.min(MOST_S, recoverSeconds));
    this.mayWait = mayWait;
  }

  /**
   * The result of the wait.
   *
   * @param look the last health check in which all nodes answered, else the first
   * @param entries entries of trial.json about it
   */
  record Settled(Look look, Map<String, Object> entries) {}

  /** Waits until the services of {@code trial} are idle, for a limited time. */
  Settled settle(PlannedTrial trial, Look first) throws IOException, InterruptedException {
    final long begin = System.nanoTime();
    Look look = first;
    Set<String> working = working(look.used(), Map.of());
    int misses = 0;
    while (!working.isEmpty()
        && misses < MISSES
        && mayWait.getAsBoolean()
        && System.nanoTime() - begin < mostNanos) {
      Thread.sleep(STEP_MS);
      Look next = watch.look(trial);
      misses = next.away().isEmpty() ? 0 : misses + 1;
      if (misses == 0) {
        working = working(next.used(), look.used());
        look = next;
      }
    }
    busy.keySet().removeAll(look.used().keySet());
    for (String service : working) {
      busy.put(service, look.invocation(service));
    }
    double waited = (System.nanoTime() - begin) / 1e6;
    return new Settled(
        look,
        Json.of("left_work", Json.of("waited_ms", waited, "still_busy", List.copyOf(working))));
  }

  /** Returns the services that are not known to be idle since {@code before}. */
  private Set<String> working(
      Map<String, Look.ProcessorTime> now, Map<String, Look.ProcessorTime> before) {
    Set<String> working = new TreeSet<>();
    now.forEach(
        (service, used) -> {
          if (used.isKnown()) {
            Double cores = used.coresSince(before.get(service));
            if (cores == null || cores >= IDLE_CORES) {
              working.add(service);
            }
          } else if (silent.add(service)) {
            System.out.printf(
                "%s: its node does not report its processor time, so the next trial may meet work"
                    + " that an earlier one left; run site.yml again%n",
                service);
          }
        });
    return working;
  }

  /**
   * Returns each {@code service on node} that was still busy, in its present start, when its wait
   * ended.
   */
  Set<String> busy(Look look) {
    Set<String> found = new TreeSet<>();
    look.invocations()
        .forEach(
            (service, id) -> {
              if (id.equals(busy.get(service))) {
                found.add(service);
              }
            });
    return found;
  }
}
