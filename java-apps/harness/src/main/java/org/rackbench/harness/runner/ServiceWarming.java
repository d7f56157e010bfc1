package org.rackbench.harness.runner;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.rackbench.harness.program.Manifest;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.PlannedTrial;
import org.rackbench.harness.trial.Warming;

/** Warms services after a restart, by calls that do not count, in JVMs like those of trials. */
final class ServiceWarming {

  private static final int POLL_MS = 250;

  /** Time of the warming calls for a block, in milliseconds, divided among its cells. */
  private static final int WARM_MS = 20_000;

  private static final int MOST_WARM_MS_OF_CELL = 1000;

  /** A client may notice the end of a service before systemd has recorded it. */
  private static final int SETTLE_MS = 1000;

  private final RunnerOptions options;
  private final ServingNodes nodes;
  private final LabWatch watch;
  private final WorkArea area;
  private final Leftover leftover;
  private final IntSupplier patienceSeconds;
  private final BooleanSupplier mayStart;

  /**
   * @param patienceSeconds returns the longest wait for services that a warming call has ended
   * @param mayStart returns false if no further trial is wanted
   */
  ServiceWarming(
      RunnerOptions options,
      ServingNodes nodes,
      LabWatch watch,
      WorkArea area,
      Leftover leftover,
      IntSupplier patienceSeconds,
      BooleanSupplier mayStart) {
    this.options = options;
    this.nodes = nodes;
    this.watch = watch;
    this.area = area;
    this.leftover = leftover;
    this.patienceSeconds = patienceSeconds;
    this.mayStart = mayStart;
  }

  /**
   * The result of warming.
   *
   * @param calls number of calls made for each trial that warmed
   * @param not ids of the trials that failed to warm
   */
  record Warmed(List<Integer> calls, Set<String> not) {

    Map<String, Object> entries() {
      return Json.of(
          "warm_cells", calls.size(),
          "warm_calls", calls.stream().mapToInt(Integer::intValue).sum(),
          "not_warmed", List.copyOf(not));
    }
  }

  /**
   * Calls the services as these trials do, one client program after the other. A trial that fails
   * here in one block is tried again in the next one: blocks must be alike, also after a resume.
   *
   * @param whole a trial that needs all of these services
   */
  Warmed warm(PlannedTrial whole, List<PlannedTrial> cellsOfBlock)
      throws IOException, InterruptedException {
    Warmed warmed = new Warmed(new ArrayList<>(), new LinkedHashSet<>());
    Look look = watch.look(whole);
    final Set<String> well =
        look.invocations().keySet().stream().filter(look::isWell).collect(Collectors.toSet());
    Map<List<Object>, List<PlannedTrial>> programs = new LinkedHashMap<>();
    for (PlannedTrial trial : cellsOfBlock) {
      boolean isProgram = Manifest.isIn(options.client(trial));
      if (isProgram || !isServed(trial, look)) { // a program warms up by itself
        warmed.not().add(trial.id());
      } else {
        programs
            .computeIfAbsent(
                List.of(trial.client(), trial.jdk(), Fork.optionsOf(trial)),
                program -> new ArrayList<>())
            .add(trial);
      }
    }
    int cells = programs.values().stream().mapToInt(List::size).sum();
    int millis = Math.min(MOST_WARM_MS_OF_CELL, WARM_MS / Math.max(cells, 1));
    for (List<PlannedTrial> trials : programs.values()) {
      List<PlannedTrial> left = trials;
      while (!left.isEmpty() && mayStart.getAsBoolean()) {
        List<Integer> done = warmTogether(left, millis);
        warmed.calls().addAll(done);
        if (done.size() < left.size()) {
          PlannedTrial bad = left.get(done.size());
          warmed.not().add(bad.id());
          System.out.println("not warmed by " + bad.id());
          Thread.sleep(SETTLE_MS);
          leftover.settle(whole, watch.look(whole));
          await(whole, well);
        }
        left = left.subList(Math.min(done.size() + 1, left.size()), left.size());
      }
    }
    return warmed;
  }

  /** Waits until all of these services answer, up to a limit. */
  private void await(PlannedTrial whole, Set<String> services)
      throws IOException, InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(patienceSeconds.getAsInt());
    while (!services.stream().allMatch(watch.look(whole)::isWell)
        && mayStart.getAsBoolean()
        && System.nanoTime() < end) {
      Thread.sleep(POLL_MS);
    }
  }

  private boolean isServed(PlannedTrial trial, Look look) {
    return nodes.of(trial).stream()
        .flatMap(
            server ->
                Stream.concat(
                    Stream.of(server.name()),
                    server.services().stream().map(name -> Look.subject(name, server))))
        .allMatch(look::isWell);
  }

  /** Calls for trials of one program until one of them fails; returns the calls of each. */
  private List<Integer> warmTogether(Collection<PlannedTrial> trials, int millis)
      throws IOException, InterruptedException {
    Path directory = area.beginWarming();
    StringBuilder lines = new StringBuilder();
    int bound = 0;
    for (PlannedTrial trial : trials) {
      lines.append(new String(Json.bytes(trial.line()), UTF_8));
      bound = Math.max(bound, trial.timeoutSeconds());
    }
    Files.writeString(directory.resolve(Warming.PLAN), lines);
    PlannedTrial first = trials.iterator().next();
    Fork fork =
        Fork.start(
            Warming.class,
            options.jdk(first),
            first,
            directory,
            options.client(first),
            options.lab(),
            Integer.toString(millis));
    area.note(directory, fork.handle());
    fork.await(bound + trials.size(), options.lookSeconds(), () -> !mayStart.getAsBoolean());
    fork.boundLog();
    Path done = directory.resolve(Warming.DONE);
    List<Integer> calls =
        Files.exists(done)
            ? Files.readAllLines(done).stream().map(Integer::valueOf).toList()
            : List.of();
    if (calls.size() < trials.size() && !fork.lastLine().isEmpty()) {
      // Not readString, which refuses other bytes than UTF-8: a client may print any.
      System.out.print(new String(Files.readAllBytes(directory.resolve(Fork.LOG)), UTF_8));
    }
    area.endWarming();
    return calls;
  }
}
