package org.rackbench.harness.runner;

import static java.nio.file.StandardWatchEventKinds.ENTRY_CREATE;
import static java.nio.file.StandardWatchEventKinds.ENTRY_DELETE;

import java.io.IOException;
import java.nio.file.ClosedWatchServiceException;
import java.nio.file.Path;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.rackbench.harness.trial.ErrorText;
import org.rackbench.harness.trial.PlannedTrial;
import org.rackbench.harness.trial.RunnerWatch;

/**
 * Has the nodes of a trial sampled between its warm-up and its first measured call, and again after
 * the last one, so that what they used is known of a short measured phase too. The trial's JVM
 * tells by a file in its directory and waits for the answer; while calls are measured, nothing is
 * done here.
 */
final class PhaseSamples implements AutoCloseable {

  private final Health health;
  private final Collection<ServingNode> nodes;
  private final WatchService changes;

  private PhaseSamples(Health health, Collection<ServingNode> nodes, WatchService changes) {
    this.health = health;
    this.nodes = nodes;
    this.changes = changes;
  }

  /**
   * Begins to watch the directory of a trial that is not started yet.
   *
   * @param before the look from which the trial begins; nodes that did not say then that they
   *     sample are not asked
   */
  static PhaseSamples of(Health health, PlannedTrial trial, Look before, Path attempt) {
    List<ServingNode> nodes =
        health.nodes(trial).values().stream()
            .filter(node -> before.reports().containsKey(node.name()))
            .filter(node -> before.reports().get(node.name()).get("sampled_ns") instanceof Number)
            .toList();
    WatchService changes = null;
    if (!nodes.isEmpty()) {
      try {
        changes = attempt.getFileSystem().newWatchService();
        attempt.register(changes, ENTRY_CREATE, ENTRY_DELETE);
      } catch (IOException e) {
        System.out.println("no samples of the measured phase: " + ErrorText.of(e));
      }
    }
    return new PhaseSamples(health, nodes, changes);
  }

  /** Returns what the trial's JVM is told beside its directory and the lab file. */
  String[] arguments() {
    return changes == null ? new String[0] : new String[] {RunnerWatch.SAMPLED};
  }

  /** Answers to the JVM of the trial from now on. */
  void answer(Fork fork) {
    if (changes != null) {
      Thread thread = new Thread(() -> watch(fork), "phase-samples");
      thread.setDaemon(true);
      thread.start();
    }
  }

  private void watch(Fork fork) {
    try {
      for (WatchKey key = changes.take(); ; key = changes.take()) {
        for (WatchEvent<?> event : key.pollEvents()) {
          if (Path.of(RunnerWatch.MEASURING).equals(event.context())) {
            sample();
            fork.tell(event.kind() == ENTRY_CREATE ? RunnerWatch.BEGIN : RunnerWatch.END);
          }
        }
        key.reset();
      }
    } catch (ClosedWatchServiceException e) {
      // the trial has ended
    } catch (IOException e) {
      // its JVM has, and nobody waits
    } catch (InterruptedException | ExecutionException e) {
      throw new IllegalStateException(e); // nothing interrupts, and nodes that fail are no failure
    }
  }

  /** Has all nodes sampled at once; one that takes longer than the trial waits is left behind. */
  private void sample() throws InterruptedException, ExecutionException {
    CompletableFuture<?>[] asked =
        nodes.stream().map(health::sample).toArray(CompletableFuture[]::new);
    try {
      CompletableFuture.allOf(asked).get(RunnerWatch.LONGEST_WAIT_MS, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      // the times of its samples tell
    }
  }

  @Override
  public void close() throws IOException {
    if (changes != null) {
      changes.close();
    }
  }
}
