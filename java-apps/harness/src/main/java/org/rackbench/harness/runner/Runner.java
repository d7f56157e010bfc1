package org.rackbench.harness.runner;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.rackbench.harness.trial.BadInput;
import org.rackbench.harness.trial.ErrorText;
import org.rackbench.harness.trial.LabFile;
import org.rackbench.harness.trial.PlannedTrial;

/**
 * Runs the trials of a plan that are not sealed yet, each in a fresh JVM, and seals them. A trial
 * that a fault of the lab spoilt is repeated; one whose servers stay away is deferred.
 *
 * <p>Exit status: 0 all trials are sealed, or SIGTERM stopped the runner; 2 bad input; 3 a fault of
 * this node (no space, no permission, no memory) or of the runner; 4 some trials are deferred; 5
 * {@code --until} has come. The same command continues where it stopped.
 */
public final class Runner {

  static final int OK = 0;
  static final int BAD_INPUT = 2;
  static final int FAULT = 3;
  static final int PUT_OFF = 4;
  static final int DEADLINE = 5;

  private final RunnerOptions options;
  private final List<PlannedTrial> trials;
  private final WorkArea area;
  private final RunState state;
  private final Stop stop;
  private final LabWatch watch;
  private final NewStarts newStarts;
  private final Attempts attempts;
  private final long begin = System.nanoTime();
  private final long nanosToDeadline;
  private final Map<String, String> putOff = new LinkedHashMap<>();
  private int done;

  private Runner(RunnerOptions options, Stop stop) throws IOException {
    this.options = options;
    this.stop = stop;
    Plan plan = Plan.read(options.run().resolve("plan.jsonl"));
    this.trials =
        options.group() == null
            ? plan.between(options.first(), options.last())
            : plan.group(options.group());
    LabFile lab = LabFile.read(options.lab());
    ServingNodes nodes = new ServingNodes(lab);
    PlanCheck.check(plan, options, lab);
    // From now on measured by a monotonic clock.
    this.nanosToDeadline =
        options.until() == null
            ? Long.MAX_VALUE
            : TimeUnit.MILLISECONDS.toNanos(
                Duration.between(Instant.now(), options.until()).toMillis());
    this.area = new WorkArea(options.run());
    int sealed = (int) plan.ids().stream().filter(area::isSealed).count();
    this.state = new RunState(options.run(), plan.ids().size(), sealed);
    Health health = new Health(nodes, options.run(), options.freeMegabytes(), options.without());
    this.watch =
        new LabWatch(health, state, options.recoverSeconds(), options.without(), this::mayStart);
    Leftover leftover = new Leftover(watch, options.recoverSeconds(), this::mayStart);
    this.newStarts =
        new NewStarts(options, trials, nodes, health, watch, area, state, leftover, this::mayStart);
    Observers observers = Observers.of(nodes, health, options.run());
    this.attempts = new Attempts(options, area, state, watch, leftover, observers, newStarts::take);
  }

  public static void main(String[] args) {
    Stop stop = new Stop();
    int status = FAULT;
    try {
      status = run(args, stop);
    } catch (RuntimeException | Error e) {
      e.printStackTrace();
    }
    stop.exit(status); // without it, the hook of Stop would wait forever for this thread
  }

  private static int run(String[] args, Stop stop) {
    try {
      RunnerOptions options = RunnerOptions.of(args);
      try (RunnerLock held = RunnerLock.take(options.lock(), options.run())) {
        return new Runner(options, stop).runTrials();
      }
    } catch (BadInput e) {
      System.err.println("runner: " + e.getMessage());
      return BAD_INPUT;
    } catch (IOException e) {
      System.err.println("runner: " + fault(e));
      return FAULT;
    } catch (InterruptedException e) {
      throw new IllegalStateException(e); // nothing interrupts the main thread
    }
  }

  private int runTrials() throws IOException, InterruptedException {
    stop.whenAsked(() -> noteQuietly("stopping", "asked to stop; the running trial goes on"));
    try {
      int open = open().size();
      System.out.printf("%d of %d trials to run%n", open, state.total());
      runThrough(PlannedTrial::isCounted, open);
      // After all trials that count, including deferred ones.
      runThrough(PlannedTrial::isCaptured, open);
      runThrough(PlannedTrial::isProfiled, open);
      endProfiling();
      return end();
    } catch (IOException | RuntimeException | Error e) {
      noteQuietly("failed", fault(e));
      throw e;
    }
  }

  private List<PlannedTrial> open() {
    return trials.stream().filter(trial -> !area.isSealed(trial.id())).toList();
  }

  /** Runs the open trials of one kind; it tries deferred trials twice. */
  private void runThrough(Predicate<PlannedTrial> kind, int all)
      throws IOException, InterruptedException {
    for (int round = 1; round <= 2; round++) {
      for (PlannedTrial trial : open()) {
        if (!mayStart()) {
          return;
        }
        if (kind.test(trial)) {
          run(trial, all);
        }
      }
    }
  }

  /**
   * Restarts the services that have had a profiler. If that fails, or the runner is killed before,
   * the next runner that meets such a service restarts it.
   */
  private void endProfiling() throws IOException, InterruptedException {
    for (PlannedTrial trial : trials) {
      if (trial.isProfiled() && area.isSealed(trial.id())) {
        Look look = watch.look(trial);
        if (look.problem() == null) {
          newStarts.clean(trial, look);
        }
      }
    }
  }

  /** Makes attempts at a trial until it is sealed or deferred, or no trial may start any more. */
  private void run(PlannedTrial trial, int all) throws IOException, InterruptedException {
    for (int spoilt = 0; spoilt <= options.retries(); spoilt++) {
      final long turn = System.nanoTime();
      Look before = newStarts.ready(trial, watch.whenStillWell(trial));
      if (!mayStart()) {
        return;
      } else if (before.problem() != null) {
        putOff(trial, before.problem().text());
        return;
      }
      Attempts.Made made = attempts.make(trial, before, Math.max(turn, before.began()));
      say(made, all);
      if (made.isSealed()) {
        if (putOff.remove(trial.id()) != null) {
          state.putOff(putOff);
        }
        return;
      }
      if (spoilt == options.retries()) {
        putOff(trial, "%d attempts were spoilt, the last: %s".formatted(spoilt + 1, made.fault()));
      }
    }
  }

  private void putOff(PlannedTrial trial, String reason) throws IOException {
    if (!reason.equals(putOff.put(trial.id(), reason))) {
      System.out.printf("%s deferred: %s%n", trial.id(), reason);
      state.putOff(putOff);
    }
  }

  private void say(Attempts.Made made, int all) {
    done += made.isSealed() ? 1 : 0;
    long eta = (System.nanoTime() - begin) / Math.max(done, 1) * (all - done) / 1_000_000_000L;
    System.out.printf(
        "[%d/%d] %s; ETA %d:%02d:%02d%n",
        done, all, made.line(), eta / 3600, eta / 60 % 60, eta % 60);
  }

  /** Records in state.json how the run ended and returns the exit status. */
  private int end() throws IOException {
    List<PlannedTrial> open = open();
    if (open.isEmpty()) {
      state.become("finished", "");
      return OK;
    } else if (stop.asked()) {
      state.become("finished", "stopped before trial %d".formatted(done + 1));
      return OK;
    } else if (isLate()) {
      state.become(
          "deadline",
          "no trial starts after %s; %d are open".formatted(options.until(), open.size()));
      return DEADLINE;
    }
    state.become(
        "finished",
        "%d of %d trials are deferred, the first, %s: %s"
            .formatted(open.size(), state.total(), open.get(0).id(), putOff.get(open.get(0).id())));
    return PUT_OFF;
  }

  private boolean mayStart() {
    return !stop.asked() && !isLate();
  }

  private boolean isLate() {
    return System.nanoTime() - begin >= nanosToDeadline;
  }

  private void noteQuietly(String word, String reason) {
    try {
      state.become(word, reason);
    } catch (IOException e) {
      System.err.println("runner: state.json: " + fault(e));
    }
  }

  private static String fault(Throwable e) {
    String what = e instanceof FileSystemException ? e.getMessage() : ErrorText.of(e);
    return what + "; the open trial does not count; repair this node and start the runner again";
  }
}
