package org.rackbench.harness.runner;

import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.rackbench.harness.trial.PlannedTrial;

/**
 * Waits for nodes and services that do not answer, up to a time limit, and remembers which of them
 * stayed away. systemd restarts a service that has ended; {@link Restarts} asks for the restart of
 * one that hangs.
 */
final class LabWatch {

  private static final int POLL_MS = 1000;

  /**
   * Greatest age in nanoseconds of a look that serves for the next trial; sealing may take as long.
   */
  private static final long FRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  private final Health health;
  private final RunState state;
  private final long recoverNanos;
  private final BooleanSupplier mayStart;
  private final Set<String> away;
  private final Restarts restarts;
  private Look last;
  private boolean lastObserved;
  private Map<String, ServingNode> lastAsked = Map.of();

  /**
   * @param recoverSeconds longest wait for a node or service, once
   * @param leftOut names of nodes for which there is no wait
   * @param mayStart returns false if no further trial is wanted, which ends the wait
   */
  LabWatch(
      Health health,
      RunState state,
      int recoverSeconds,
      Set<String> leftOut,
      BooleanSupplier mayStart) {
    this.health = health;
    this.state = state;
    this.recoverNanos = TimeUnit.SECONDS.toNanos(recoverSeconds);
    this.away = new HashSet<>(leftOut);
    this.restarts = new Restarts(health);
    this.mayStart = mayStart;
  }

  Look look(PlannedTrial trial) throws IOException {
    last = health.look(trial);
    lastAsked = health.nodes(trial);
    lastObserved = trial.isObserved();
    state.saw(last);
    return last;
  }

  /** Returns the restarts since the last call of this method, see {@link Restarts#take}. */
  List<Map<String, Object>> restarts() {
    return restarts.take();
  }

  /** Polls again, unless the first look already missed a node. Returns the last look. */
  Look lookAgain(PlannedTrial trial, Look first) throws IOException {
    return first.problem() == null ? look(trial) : first;
  }

  /** Polls until every node answers, at most {@link TrialWatch#MISSES} times. */
  Look lookPatiently(PlannedTrial trial) throws IOException, InterruptedException {
    Look look = look(trial);
    for (int misses = 1; misses < TrialWatch.MISSES && !look.away().isEmpty(); misses++) {
      Thread.sleep(POLL_MS);
      look = look(trial);
    }
    return look;
  }

  /**
   * Like {@link #whenWell(PlannedTrial)}, but without a poll if the last one, at the end of the
   * trial before, has just found the same nodes well. This saves one poll a trial.
   */
  Look whenStillWell(PlannedTrial trial) throws IOException, InterruptedException {
    boolean isFresh =
        last != null
            && last.problem() == null
            && System.nanoTime() - last.began() < FRESH_NANOS
            && lastObserved == trial.isObserved()
            && lastAsked.equals(health.nodes(trial));
    return isFresh ? last : whenWell(trial);
  }

  /**
   * Polls, and waits if necessary until the trial may start. Returns the last look; if it has a
   * problem, the trial must not start.
   */
  Look whenWell(PlannedTrial trial) throws IOException, InterruptedException {
    return whenWell(trial, look(trial));
  }

  /** Does the same, beginning with an earlier {@code look}. */
  Look whenWell(PlannedTrial trial, Look look) throws IOException, InterruptedException {
    away.removeIf(look::isWell);
    if (look.problem() == null || look.isHinderedBy(away)) {
      return look;
    }
    String paused = "";
    long end = System.nanoTime() + recoverNanos;
    Look now = look;
    while (now.problem() != null && mayStart.getAsBoolean() && System.nanoTime() < end) {
      if (!now.problem().text().equals(paused)) {
        paused = now.problem().text();
        System.out.println("paused: " + paused);
        state.become("paused", paused);
      }
      restarts.consider(now);
      Thread.sleep(POLL_MS);
      now = look(trial);
    }
    restarts.consider(now);
    if (now.problem() != null && mayStart.getAsBoolean()) {
      away.add(now.problem().subject());
    }
    if (!paused.isEmpty()) {
      state.become("running", "");
    }
    return now;
  }
}
