package org.rackbench.harness.runner;

import static java.nio.file.StandardWatchEventKinds.ENTRY_CREATE;
import static java.nio.file.StandardWatchEventKinds.ENTRY_DELETE;

import java.io.IOException;
import java.nio.file.ClosedWatchServiceException;
import java.nio.file.Path;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.rackbench.harness.trial.ErrorText;
import org.rackbench.harness.trial.RunnerWatch;

/**
 * Has the nodes of a trial sampled between its warm-up and its first measured call, and again after
 * the last one, so that their resources are known for a short measured phase too. The trial's JVM
 * signals both moments by a file in its directory and waits for the answer. While calls are
 * measured, this observer does nothing.
 */
final class PhaseSamples implements Observer {

  private final Health health;
  private WatchService changes;

  PhaseSamples(Health health) {
    this.health = health;
  }

  /**
   * Begins to watch the directory of a trial before its start. It asks only nodes that have already
   * reported that they sample.
   */
  @Override
  public void before(Observation attempt) {
    Map<String, Map<String, Object>> reports = attempt.lookBefore().reports();
    List<ServingNode> nodes =
        health.nodes(attempt.trial()).values().stream()
            .filter(node -> reports.containsKey(node.name()))
            .filter(node -> reports.get(node.name()).get("sampled_ns") instanceof Number)
            .toList();
    changes = nodes.isEmpty() ? null : watching(attempt.directory());
    if (changes != null) {
      WatchService its = changes;
      attempt.tellJvm(RunnerWatch.SAMPLED);
      attempt.whenStarted(fork -> answer(its, fork, nodes));
    }
  }

  private static WatchService watching(Path directory) {
    try {
      WatchService changes = directory.getFileSystem().newWatchService();
      directory.register(changes, ENTRY_CREATE, ENTRY_DELETE);
      return changes;
    } catch (IOException e) {
      System.out.println("no samples of the measured phase: " + ErrorText.of(e));
      return null;
    }
  }

  /** Answers the JVM of the trial from now on. */
  private void answer(WatchService its, Fork fork, List<ServingNode> nodes) {
    Thread thread = new Thread(() -> watch(its, fork, nodes), "phase-samples");
    thread.setDaemon(true);
    thread.start();
  }

  private void watch(WatchService its, Fork fork, List<ServingNode> nodes) {
    try {
      for (WatchKey key = its.take(); ; key = its.take()) {
        for (WatchEvent<?> event : key.pollEvents()) {
          if (Path.of(RunnerWatch.MEASURING).equals(event.context())) {
            sample(nodes);
            fork.tell(event.kind() == ENTRY_CREATE ? RunnerWatch.BEGIN : RunnerWatch.END);
          }
        }
        key.reset();
      }
    } catch (ClosedWatchServiceException e) {
      // the trial has ended
    } catch (IOException e) {
      // its JVM has ended, and nobody waits
    } catch (InterruptedException | ExecutionException e) {
      throw new IllegalStateException(e); // nothing interrupts; failing nodes throw nothing
    }
  }

  /** Has all nodes sampled in parallel; it does not wait for a slow one longer than the trial. */
  private void sample(List<ServingNode> nodes) throws InterruptedException, ExecutionException {
    CompletableFuture<?>[] asked =
        nodes.stream().map(health::sample).toArray(CompletableFuture[]::new);
    try {
      CompletableFuture.allOf(asked).get(RunnerWatch.LONGEST_WAIT_MS, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      // the times of its samples show it
    }
  }

  /** Contributes nothing, because {@link Resources} records the samples. */
  @Override
  public Map<String, Object> after(Observation attempt) throws IOException {
    if (changes != null) {
      changes.close();
    }
    return Map.of();
  }
}
