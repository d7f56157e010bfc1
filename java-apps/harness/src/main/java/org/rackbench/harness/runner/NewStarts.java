package org.rackbench.harness.runner;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.PlannedTrial;
import org.rackbench.harness.trial.Utc;

/**
 * If the plan says {@code restart: block}, restarts the services of a block before its first trial,
 * and has them {@link ServiceWarming warmed}. In every plan, the trials with a profiler form such a
 * block, and no other trial uses a service that has had a profiler.
 */
final class NewStarts {

  private static final int POLL_MS = 250;
  private static final long AGAIN_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** Longest wait for a restart, in seconds, after an earlier one failed. */
  private static final int SHORT_PATIENCE_S = 10;

  /** How often services are warmed again if they restart meanwhile. */
  private static final int ROUNDS = 3;

  private final ServingNodes nodes;
  private final Health health;
  private final LabWatch watch;
  private final RunState state;
  private final BooleanSupplier mayStart;
  private final BlockStarts starts;
  private final Map<Integer, List<PlannedTrial>> blocks;
  private final List<PlannedTrial> trials;
  private final Leftover leftover;
  private final ServiceWarming warming;

  private final List<Map<String, Object>> made = new ArrayList<>();
  private int patienceSeconds;

  /**
   * @param trials the trials that this runner runs
   * @param mayStart returns false if no further trial is wanted
   */
  NewStarts(
      RunnerOptions options,
      List<PlannedTrial> trials,
      ServingNodes nodes,
      Health health,
      LabWatch watch,
      WorkArea area,
      RunState state,
      Leftover leftover,
      BooleanSupplier mayStart)
      throws IOException {
    this.nodes = nodes;
    this.health = health;
    this.watch = watch;
    this.state = state;
    this.leftover = leftover;
    this.warming =
        new ServiceWarming(options, nodes, watch, area, leftover, () -> patienceSeconds, mayStart);
    this.trials = trials;
    this.mayStart = mayStart;
    this.patienceSeconds = options.recoverSeconds();
    if (trials.stream().anyMatch(trial -> !trial.needs().isEmpty())) {
      BlockStarts.use(options.run());
    }
    this.starts = BlockStarts.of(options.run());
    this.blocks =
        trials.stream()
            .filter(trial -> trial.isRestartedForBlock() && !trial.needs().isEmpty())
            .collect(Collectors.groupingBy(PlannedTrial::block));
    if (!blocks.isEmpty()) {
      nodes.readRestartPassword(); // refuses a node without it before the first trial
    }
  }

  /**
   * Restarts and warms the services of the block of {@code trial} if necessary.
   *
   * @param before a look that found all servers of the trial well
   * @return {@code before}, or a later look; if it has a problem, the trial must not start
   */
  Look ready(PlannedTrial trial, Look before) throws IOException, InterruptedException {
    Look look = ofBlock(trial, trial.isProfiled() ? before : clean(trial, before));
    if (look.problem() != null || leftover.busy(look).isEmpty() || !mayStart.getAsBoolean()) {
      return look;
    }
    return ofBlock(trial, withoutLeftover(trial, look));
  }

  /** Does so for the services that the plan restarts for each block. */
  private Look ofBlock(PlannedTrial trial, Look before) throws IOException, InterruptedException {
    Look look = before;
    if (look.problem() != null || !blocks.containsKey(trial.block())) {
      return look;
    }
    for (int round = 0; round < ROUNDS && isCold(trial, look); round++) {
      Look failed = makeReady(trial.block());
      if (!mayStart.getAsBoolean()) {
        return look;
      }
      look = failed != null ? failed : watch.whenWell(trial);
    }
    return look;
  }

  /**
   * Restarts the services that have had a profiler, if {@code look} shows any.
   *
   * @return {@code look}, or a later look; if it has a problem, the restart failed
   */
  Look clean(PlannedTrial trial, Look look) throws IOException, InterruptedException {
    Set<String> due = look.profiled();
    for (Predicate<String> phase : phases()) {
      Look failed = due.isEmpty() ? null : restart(trial, due, phase);
      if (failed != null) {
        return failed;
      }
    }
    return due.isEmpty() ? look : watch.whenWell(trial);
  }

  /**
   * Restarts and warms the services that an earlier trial left busy. Without the password for a
   * restart, the runner waits for them once more and defers the trial while they stay busy.
   */
  private Look withoutLeftover(PlannedTrial trial, Look before)
      throws IOException, InterruptedException {
    Set<String> busy = leftover.busy(before);
    if (nodes.restartPassword().isEmpty()) {
      Look look = leftover.settle(trial, before).look();
      for (String service : leftover.busy(look)) {
        look.problem(
            service,
            service
                + " is still busy with work that an earlier trial left, and this node has no"
                + " password to restart it; run site.yml again");
      }
      return look;
    }
    state.become("paused", "services that an earlier trial left busy are restarted: " + busy);
    final String at = Utc.now();
    final long begin = System.nanoTime();
    for (Predicate<String> phase : phases()) {
      Look failed = restart(trial, busy, phase);
      if (failed != null || !mayStart.getAsBoolean()) {
        state.become("running", "");
        return failed == null ? before : failed;
      }
    }
    Map<String, Object> done = Json.of("at", at, "restarted", List.copyOf(busy));
    done.put("reason", "busy with work that an earlier trial left");
    final long restarted = System.nanoTime();
    done.put("restart_ms", (restarted - begin) / 1e6);
    if (!blocks.containsKey(trial.block())) { // else the block warms them
      ServiceWarming.Warmed warmed = warming.warm(trial, cells(trial));
      done.put("warm_ms", (System.nanoTime() - restarted) / 1e6);
      done.putAll(warmed.entries());
    }
    state.become("running", "");
    made.add(done);
    System.out.println(trial.id() + ": " + done);
    return watch.whenWell(trial);
  }

  /** Returns the cells of the block of {@code trial} that the same services serve. */
  private List<PlannedTrial> cells(PlannedTrial trial) {
    return trials.stream()
        .filter(other -> other.block() == trial.block() && other.isCounted())
        .filter(other -> !other.needs().isEmpty() && trial.needs().containsAll(other.needs()))
        .filter(other -> other.servers() <= trial.servers() && other.shift() == trial.shift())
        .toList();
  }

  // The broker first: services that had just connected would lose it again.
  private List<Predicate<String>> phases() {
    return List.of(nodes::isOfBroker, service -> !nodes.isOfBroker(service));
  }

  private boolean isCold(PlannedTrial trial, Look look) {
    return look.problem() == null
        && mayStart.getAsBoolean()
        && look.invocations().entrySet().stream()
            .anyMatch(start -> !starts.isReady(trial.block(), start.getKey(), start.getValue()));
  }

  /** Returns the actions since the last call of this method, for trial.json. */
  List<Map<String, Object>> take() {
    List<Map<String, Object>> taken = List.copyOf(made);
    made.clear();
    return taken;
  }

  /** Returns a look with the problem if a service could not be restarted, or else null. */
  private Look makeReady(int block) throws IOException, InterruptedException {
    PlannedTrial whole = together(blocks.get(block));
    Look look = watch.whenWell(whole);
    state.become("paused", "the services of block %d are restarted and warmed".formatted(block));
    final String at = Utc.now();
    final long begin = System.nanoTime();
    Map<String, Object> old = look.invocations();
    Set<String> due =
        old.keySet().stream()
            .filter(service -> starts.isDue(block, service, old.get(service)))
            .collect(Collectors.toCollection(LinkedHashSet::new));
    for (Predicate<String> phase : phases()) {
      Look failed = restart(whole, due, phase);
      if (failed != null || !mayStart.getAsBoolean()) {
        state.become("running", "");
        return failed;
      }
    }
    final long restarted = System.nanoTime();
    ServiceWarming.Warmed warmed = warming.warm(whole, blocks.get(block));
    look = watch.whenWell(whole);
    state.become("running", "");
    if (!mayStart.getAsBoolean()) {
      return null; // its warming may be incomplete
    }
    starts.add(block, look.invocations());
    Map<String, Object> done = Json.of("at", at, "restarted", List.copyOf(due));
    done.put("restart_ms", (restarted - begin) / 1e6);
    done.put("warm_ms", (System.nanoTime() - restarted) / 1e6);
    done.putAll(warmed.entries());
    made.add(done);
    System.out.println("block " + block + ": " + done);
    return null;
  }

  /** Returns a trial with the needs of all of these. */
  private static PlannedTrial together(List<PlannedTrial> trials) {
    Map<String, Object> line = new LinkedHashMap<>(trials.get(0).line());
    line.put("needs", trials.stream().flatMap(t -> t.needs().stream()).distinct().toList());
    line.put("servers", trials.stream().mapToInt(PlannedTrial::servers).max().orElse(1));
    return PlannedTrial.of(line, trials.get(0).id());
  }

  /** Restarts the services that are due and waits until they have started and all are well. */
  private Look restart(PlannedTrial whole, Set<String> due, Predicate<String> phase)
      throws IOException, InterruptedException {
    Map<ServingNode, Map<String, Object>> left = new LinkedHashMap<>();
    watch
        .look(whole)
        .starts()
        .forEach(
            (server, ids) -> {
              Map<String, Object> mine = new LinkedHashMap<>(ids);
              mine.keySet()
                  .removeIf(name -> !phase.test(name) || !due.contains(Look.subject(name, server)));
              left.put(server, mine);
            });
    left.values().removeIf(Map::isEmpty);
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(patienceSeconds);
    long ask = System.nanoTime();
    while (!left.isEmpty() && mayStart.getAsBoolean()) {
      boolean isTimeToAsk = System.nanoTime() - ask >= 0;
      for (Map.Entry<ServingNode, Map<String, Object>> one : left.entrySet()) {
        String refused =
            isTimeToAsk
                ? health.askForNewStart(one.getKey(), one.getValue(), nodes.readRestartPassword())
                : "";
        String late = System.nanoTime() - end < 0 ? "" : "it does not do so";
        if (!refused.isEmpty() || !late.isEmpty()) {
          patienceSeconds = Math.min(patienceSeconds, SHORT_PATIENCE_S);
          String what = String.join(", ", one.getValue().keySet());
          String name = one.getKey().name();
          Look failed = watch.look(whole);
          failed.problem(name, "%s cannot restart %s: %s%s".formatted(name, what, refused, late));
          return failed;
        }
      }
      ask = isTimeToAsk ? System.nanoTime() + AGAIN_NANOS : ask;
      Thread.sleep(POLL_MS);
      Look now = watch.look(whole);
      left.forEach(
          (server, ids) ->
              ids.entrySet()
                  .removeIf(
                      old -> {
                        Object id = now.invocation(Look.subject(old.getKey(), server));
                        return !old.getValue().equals(id)
                            && now.isWell(Look.subject(old.getKey(), server));
                      }));
      left.values().removeIf(Map::isEmpty);
    }
    return null;
  }
}
