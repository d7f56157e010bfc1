package org.rackbench.harness.runner;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.rackbench.harness.trial.PlannedTrial;

/** One attempt at a trial as its observers see it. */
final class Observation {

  private final PlannedTrial trial;
  private final Path directory;
  private final Look lookBefore;
  private final List<String> arguments = new ArrayList<>();
  private final List<Consumer<Fork>> whenStarted = new ArrayList<>();
  private final CompletableFuture<Look> lookAfter = new CompletableFuture<>();
  private long launched;
  private TrialRecord record;

  Observation(PlannedTrial trial, Path directory, Look lookBefore) {
    this.trial = trial;
    this.directory = directory;
    this.lookBefore = lookBefore;
  }

  PlannedTrial trial() {
    return trial;
  }

  /** Returns the directory of the attempt; its files are sealed with the trial. */
  Path directory() {
    return directory;
  }

  /** Returns the health check from which the trial began. */
  Look lookBefore() {
    return lookBefore;
  }

  /** Adds an argument for the JVM of the trial, after its directory and the lab file. */
  void tellJvm(String argument) {
    arguments.add(argument);
  }

  String[] arguments() {
    return arguments.toArray(String[]::new);
  }

  /** Adds an action to run as soon as the JVM of the trial is started. */
  void whenStarted(Consumer<Fork> deed) {
    whenStarted.add(deed);
  }

  void started(Fork fork) {
    launched = System.nanoTime();
    whenStarted.forEach(deed -> deed.accept(fork));
  }

  /** Returns when the JVM was started, as of {@link System#nanoTime}. */
  long launched() {
    return launched;
  }

  void ended(TrialRecord ofJvm) {
    record = ofJvm;
  }

  /** Returns the result that the JVM of the trial left, once it has ended. */
  TrialRecord record() {
    return record;
  }

  void checked(Look after) {
    lookAfter.complete(after);
  }

  /** Waits for the last health check after the trial and returns it. */
  Look lookAfter() {
    return lookAfter.join();
  }
}
