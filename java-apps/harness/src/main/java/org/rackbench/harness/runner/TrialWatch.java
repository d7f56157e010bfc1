package org.rackbench.harness.runner;

import java.io.IOException;
import org.rackbench.harness.trial.PlannedTrial;

/**
 * Polls the servers while a trial runs, and decides whether a fault of the lab has spoilt it. If a
 * node reports that a service has ended, this counts at once. A node that does not answer may only
 * be busy, so this counts after {@link #MISSES} missed health checks in a row.
 */
final class TrialWatch {

  /** Health checks in a row that a node has to miss before it counts as away. */
  static final int MISSES = 3;

  /**
   * Health checks in a row that a node has to miss before it is blamed for a trial that did not end
   * well. By then it was away for the whole time between two checks.
   */
  private static final int DOUBTFUL_MISSES = 2;

  /** Polls the nodes of a trial. */
  interface Check {
    Look look(PlannedTrial trial) throws IOException;
  }

  private final Check lab;
  private final PlannedTrial trial;
  private final Look before;
  private int misses;
  private String fault = "";
  private String doubt = "";

  /**
   * @param before the health check of the servers before the trial
   */
  TrialWatch(Check lab, PlannedTrial trial, Look before) {
    this.lab = lab;
    this.trial = trial;
    this.before = before;
  }

  /** Polls once and returns whether the trial is spoilt. */
  boolean isSpoilt() {
    Look look; // without a server too: a node samples its resources only while it is polled
    try {
      look = lab.look(trial);
    } catch (IOException e) {
      return false; // a fault of this node's disk; it shows at the end of the trial
    }
    if (trial.needs().isEmpty()) {
      return false;
    }
    fault = look.endedSince(before);
    if (!fault.isEmpty()) {
      return true;
    }
    String away = look.away();
    misses = away.isEmpty() ? 0 : misses + 1;
    String inRow = "%s in %d health checks in a row".formatted(away, misses);
    doubt = misses >= DOUBTFUL_MISSES ? inRow : doubt;
    fault = misses >= MISSES ? inRow : "";
    return !fault.isEmpty();
  }

  /** Returns why the last health check found the trial spoilt, in a sentence, or "". */
  String fault() {
    return fault;
  }

  /** Returns why a trial that did not end well must not be trusted, in a sentence, or "". */
  String doubt() {
    return doubt;
  }
}
