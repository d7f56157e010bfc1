package org.rackbench.harness.runner;

import java.io.IOException;
import org.rackbench.harness.trial.PlannedTrial;

/**
 * Looks at the servers while a trial runs, and decides whether a fault of the lab has spoilt it. A
 * node that says itself that a service has ended is believed at once. One that does not answer may
 * only be busy: that counts when it has not answered in {@link #MISSES} looks in a row.
 */
final class TrialWatch {

  /** Looks in a row that a node has to miss before it counts as away. */
  static final int MISSES = 3;

  /**
   * Looks in a row that a node has to miss before a trial that did not end well is blamed on it. By
   * then it was away for all of the time between two looks.
   */
  private static final int DOUBTFUL_MISSES = 2;

  /** Asks the nodes of a trial how they are. */
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
   * @param before a look at the servers before the trial
   */
  TrialWatch(Check lab, PlannedTrial trial, Look before) {
    this.lab = lab;
    this.trial = trial;
    this.before = before;
  }

  /** Looks once and returns whether the trial is spoilt. */
  boolean isSpoilt() {
    Look look; // without a server too: a node samples what is used only while it is polled
    try {
      look = lab.look(trial);
    } catch (IOException e) {
      return false; // this node's own disk; the end of the trial will tell
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
    String inRow = "%s in %d looks in a row".formatted(away, misses);
    doubt = misses >= DOUBTFUL_MISSES ? inRow : doubt;
    fault = misses >= MISSES ? inRow : "";
    return !fault.isEmpty();
  }

  /** Returns why the last look found the trial spoilt, in a sentence, or "". */
  String fault() {
    return fault;
  }

  /** Returns why a trial that did not end well must not be trusted, in a sentence, or "". */
  String doubt() {
    return doubt;
  }
}
