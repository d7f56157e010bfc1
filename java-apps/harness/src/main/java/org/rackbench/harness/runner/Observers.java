package org.rackbench.harness.runner;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;

/** The observers of all trials; a trial with the constant {@code observe: none} has none. */
final class Observers {

  private final List<Observer> all;
  private final ExecutorService working = Daemons.pool("observer");

  Observers(List<Observer> all) {
    this.all = List.copyOf(all);
  }

  /** Returns rackbench's own observers; a new observer is added to this list. */
  static Observers of(ServingNodes nodes, Health health, Path run) throws IOException {
    return new Observers(
        List.of(
            new Disturbances(),
            new ServiceSettings(nodes, health, ServiceSettings.read(run)),
            new Resources(health),
            new PhaseSamples(health),
            new Profiles(nodes, health)));
  }

  private List<Observer> of(Observation attempt) {
    return attempt.trial().isObserved() ? all : List.of();
  }

  void before(Observation attempt) throws IOException {
    for (Observer observer : of(attempt)) {
      observer.before(attempt);
    }
  }

  /** The entries of all observers, which work until {@link #join} returns. */
  static final class Entries {

    private final List<CompletableFuture<Map<String, Object>>> parts = new ArrayList<>();

    /** Waits for all observers, in their original order. */
    Map<String, Object> join() throws IOException {
      Map<String, Object> entries = new LinkedHashMap<>();
      try {
        parts.forEach(part -> entries.putAll(part.join()));
      } catch (CompletionException e) {
        if (e.getCause() instanceof UncheckedIOException onDisk) {
          throw onDisk.getCause();
        }
        throw e.getCause() instanceof RuntimeException cause ? cause : e;
      }
      return entries;
    }
  }

  /** Lets all observers finish in parallel, so that none waits for a node's answer to another. */
  Entries after(Observation attempt) {
    Entries entries = new Entries();
    for (Observer observer : of(attempt)) {
      entries.parts.add(CompletableFuture.supplyAsync(() -> after(observer, attempt), working));
    }
    return entries;
  }

  private static Map<String, Object> after(Observer observer, Observation attempt) {
    try {
      return observer.after(attempt);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
