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
 * Waits for nodes and services that do not answer, for as long as was declared, and remembers which
 * of them stayed away. systemd starts a service again that has ended; for one that hangs the runner
 * asks, see {@link Restarts}.
 */
final class LabWatch {

  private static final int POLL_MS = 1000;

  private final Health health;
  private final RunState state;
  private final long recoverNanos;
  private final BooleanSupplier mayStart;
  private final Set<String> away;
  private final Restarts restarts;

  /**
   * @param recoverSeconds how long a node or service is waited for, once
   * @param leftOut names of nodes that are not waited for at all
   * @param mayStart false when no further trial is wanted, which ends the waiting
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
    Look look = health.look(trial);
    state.saw(look);
    return look;
  }

  /** The restarts since this was asked last, see {@link Restarts#take}. */
  List<Map<String, Object>> restarts() {
    return restarts.take();
  }

  /** Looks a second time, unless the first look already missed a node. */
  Look lookAgain(PlannedTrial trial, Look first) throws IOException {
    return first.problem() == null ? look(trial) : first;
  }

  /** Looks, and if need be waits until the trial may start; else its problem says why not. */
  Look whenWell(PlannedTrial trial) throws IOException, InterruptedException {
    return whenWell(trial, look(trial));
  }

  /** The same from a first {@code look} on. */
  Look whenWell(PlannedTrial trial, Look look) throws IOException, InterruptedException {
    away.removeIf(look::isWell);
    if (look.problem() == null || look.isHinderedBy(away)) {
      return look;
    }
    String paused = "";
    long end = System.nanoTime() + recoverNanos;
    Look last = look;
    while (last.problem() != null && mayStart.getAsBoolean() && System.nanoTime() < end) {
      if (!last.problem().text().equals(paused)) {
        paused = last.problem().text();
        System.out.println("paused: " + paused);
        state.become("paused", paused);
      }
      restarts.consider(last);
      Thread.sleep(POLL_MS);
      last = look(trial);
    }
    restarts.consider(last);
    if (last.problem() != null && mayStart.getAsBoolean()) {
      away.add(last.problem().subject());
    }
    if (!paused.isEmpty()) {
      state.become("running", "");
    }
    return last;
  }

  /** Whether something that {@code before} saw at work has ended or does not answer. */
  boolean isDisturbed(PlannedTrial trial, Look before) {
    try {
      return !trial.needs().isEmpty() && !look(trial).missed(before).isEmpty();
    } catch (IOException e) {
      return false; // this node's own disk; the end of the trial will tell
    }
  }
}
