package org.rackbench.harness;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Runs the trials of a plan that are not sealed yet, each in a fresh JVM, and seals them.
 *
 * <p>Exit status: 0 all is sealed, or stopped by SIGTERM; 2 bad input; 3 a fault of this node (no
 * space, no permission), after which the same command goes on where it stopped.
 */
public final class Runner {

  static final int OK = 0;
  static final int BAD_INPUT = 2;
  static final int FAULT = 3;

  private static final String USAGE =
      """
      usage: java -cp 'HARNESS/*' org.rackbench.harness.Runner --run DIR --lab FILE --clients DIR
                  [--lock FILE] [--first ID] [--last ID] | [--group FILE]
        --run      directory of the run, with plan.jsonl in it
        --lab      lab.json, handed to the clients
        --clients  directory with one directory of jars for each client
        --lock     lock file of this node (default /run/rackbench/runner.lock)
        --first, --last  only the trials from one id to the other, in plan order
        --group    only the trials whose ids the file lists, one a line""";

  private static final Set<String> OPTIONS =
      Set.of("--run", "--lab", "--clients", "--lock", "--first", "--last", "--group");

  private final Path clients;
  private final Path lab;
  private final Plan plan;
  private final List<PlannedTrial> trials;
  private final WorkArea area;
  private final RunState state;
  private final Stop stop;

  private Runner(Map<String, String> options, Path run, Stop stop) throws IOException {
    this.clients = Path.of(options.get("--clients")).toAbsolutePath();
    this.lab = Path.of(options.get("--lab")).toAbsolutePath();
    this.stop = stop;
    this.plan = Plan.read(run.resolve("plan.jsonl"));
    this.trials = select(options);
    Lab.read(lab);
    for (PlannedTrial trial : trials) {
      if (!Files.isDirectory(clients.resolve(trial.client()))) {
        throw new BadInput(
            "%s: no such client directory (trial %s); deploy the clients to this node"
                .formatted(clients.resolve(trial.client()), trial.id()));
      }
    }
    this.area = new WorkArea(run);
    int sealed = (int) plan.ids().stream().filter(area::isSealed).count();
    this.state = new RunState(run, plan.ids().size(), sealed);
  }

  public static void main(String[] args) {
    Stop stop = new Stop();
    stop.exit(run(args, stop));
  }

  private static int run(String[] args, Stop stop) {
    try {
      Map<String, String> options = options(args);
      Path run = Path.of(options.get("--run")).toAbsolutePath().normalize();
      Path lock = Path.of(options.getOrDefault("--lock", "/run/rackbench/runner.lock"));
      try (RunnerLock held = RunnerLock.take(lock, run)) {
        new Runner(options, run, stop).runTrials();
        return OK;
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

  private void runTrials() throws IOException, InterruptedException {
    stop.whenAsked(() -> noteQuietly("stopping", "asked to stop; the running trial goes on"));
    try {
      long begin = System.nanoTime();
      int open = (int) trials.stream().filter(trial -> !area.isSealed(trial.id())).count();
      int done = 0;
      System.out.printf("%d of %d trials to run%n", open, plan.ids().size());
      for (PlannedTrial trial : trials) {
        if (stop.asked()) {
          break;
        }
        if (!area.isSealed(trial.id())) {
          String line = runTrial(trial);
          done++;
          long eta = (System.nanoTime() - begin) / done * (open - done) / 1_000_000_000L;
          System.out.printf(
              "[%d/%d] %s; ETA %d:%02d:%02d%n",
              done, open, line, eta / 3600, eta / 60 % 60, eta % 60);
        }
      }
      state.become("finished", done == open ? "" : "stopped before trial %d".formatted(done + 1));
    } catch (IOException e) {
      noteQuietly("failed", fault(e));
      throw e;
    }
  }

  /** Runs and seals one trial; gives the line to show for it. */
  private String runTrial(PlannedTrial trial) throws IOException, InterruptedException {
    long begin = System.nanoTime();
    String startedAt = Utc.now();
    Path attempt = area.begin(trial.id());
    int number = area.attempt(trial.id());
    Files.write(attempt.resolve(Trial.PLAN), Json.bytes(trial.line()));
    Fork fork = Fork.start(trial, attempt, clients, lab);
    long launched = System.nanoTime();
    area.note(attempt, fork.handle());
    state.started(trial.id(), number); // while the JVM starts, so it costs the trial nothing
    boolean ended = fork.await(trial.timeoutSeconds());
    long exited = System.nanoTime();
    TrialRecord record = TrialRecord.of(trial, attempt, fork, ended);
    if (Files.size(attempt.resolve(Fork.LOG)) == 0) {
      Files.delete(attempt.resolve(Fork.LOG));
    }
    record.write(
        number,
        startedAt,
        fork,
        Trial.ordered(
            "launch", millis(launched - begin),
            "jvm", millis(exited - launched),
            "seal", millis(System.nanoTime() - exited)));
    area.seal(attempt, trial.id());
    state.sealed(trial.id(), record.outcome());
    long outside = System.nanoTime() - exited + launched - begin;
    state.outside(outside);
    return String.format(
        Locale.ROOT,
        "%s %s%s in %.1f s (%.1f ms outside its JVM)",
        trial.id(),
        record.outcome(),
        record.reason().isEmpty() ? "" : " (" + record.reason() + ")",
        (exited - begin) / 1e9,
        outside / 1e6);
  }

  private void noteQuietly(String word, String reason) {
    try {
      state.become(word, reason);
    } catch (IOException e) {
      System.err.println("runner: state.json: " + fault(e));
    }
  }

  private List<PlannedTrial> select(Map<String, String> options) throws IOException {
    return options.containsKey("--group")
        ? plan.group(Path.of(options.get("--group")))
        : plan.between(options.get("--first"), options.get("--last"));
  }

  private static Map<String, String> options(String[] args) {
    Map<String, String> options = new HashMap<>();
    for (int i = 0; i < args.length; i += 2) {
      if (!OPTIONS.contains(args[i]) || i + 1 == args.length) {
        throw new BadInput("%s: unknown option or no value for it%n%s".formatted(args[i], USAGE));
      }
      options.put(args[i], args[i + 1]);
    }
    for (String needed : List.of("--run", "--lab", "--clients")) {
      if (!options.containsKey(needed)) {
        throw new BadInput("%s is missing%n%s".formatted(needed, USAGE));
      }
    }
    if (options.containsKey("--group")
        && (options.containsKey("--first") || options.containsKey("--last"))) {
      throw new BadInput("--group excludes --first and --last\n" + USAGE);
    }
    return options;
  }

  private static double millis(long nanos) {
    return nanos / 1e6;
  }

  private static String fault(IOException e) {
    String what = e instanceof FileSystemException ? e.getMessage() : MeasuringLoop.text(e);
    return what + "; nothing of the open trial counts; mend this node and start the runner again";
  }
}
