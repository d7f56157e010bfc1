package org.rackbench.harness.trial;

import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Setting;

/**
 * The main class of the JVM that the runner starts for one trial. It reads {@link #PLAN} from its
 * work directory and writes {@link #CALLS} and {@link #RESULT} there. If the study wants the parts
 * of calls and the client marks them, it also writes {@link #PARTS}. Its output becomes the log of
 * the trial.
 */
public final class Trial {

  public static final String PLAN = "plan.json";
  public static final String CALLS = "calls.csv";
  public static final String PARTS = "parts.csv";
  public static final String RESULT = "result.json";

  public static final String OK = "ok";
  public static final String FAILED = "failed";

  /** The outcome of a trial that reached its bound before its calls were done. */
  public static final String TIMEOUT = "timeout";

  /**
   * Key of a result's clock: {@code System.nanoTime()} from which the times of the calls count. On
   * one machine it is the same for all JVMs.
   */
  public static final String ORIGIN = "origin_ns";

  /** Beginning of the reason of a trial whose client could not be opened. */
  public static final String SET_UP_FAILED = "set-up failed: ";

  /** Beginning of the option that names the directory for temporary files of the trial's JVM. */
  public static final String TEMPORARY_OPTION = "-Djava.io.tmpdir=";

  /** Exit status of a JVM that ran out of memory, the same as HotSpot's ExitOnOutOfMemoryError. */
  public static final int EXIT_MEMORY = 3;

  /** Exit status if the work directory could not be written, so the trial left no result. */
  public static final int EXIT_IO = 5;

  /** Beginning of the line that such a JVM prints last, if it can still write to its log. */
  public static final String NOT_WRITTEN = "the trial's JVM could not write its log: ";

  /** The file with what the trial's JVM and its command print, in the trial's work directory. */
  public static final String PRINTED = "trial.log";

  /** A call may take this part of the bound of its trial, unless the study says otherwise. */
  private static final int CALLS_IN_BOUND = 4;

  /**
   * This part of the bound, but at most {@link #MOST_RESERVE_S} seconds, is reserved for writing
   * the log.
   */
  private static final int RESERVES_IN_BOUND = 5;

  private static final int MOST_RESERVE_S = 5;

  private final PlannedTrial plan;
  private final Setting setting;
  private final CallLog log;
  private final Arrivals arrivals; // null in a closed loop
  private MeasuringLoop loop;
  private boolean isWhole;
  private JvmCounters counters;
  private JvmProfiler profiler;
  private Capture capture;

  private Trial(PlannedTrial plan, Setting setting) {
    this.plan = plan;
    this.setting = setting;
    boolean hasParts = setting.flag("parts", false);
    this.log = new CallLog(plan.threads(), plan.warmup(), plan.calls(), hasParts);
    this.arrivals =
        plan.arrival() == null ? null : new Arrivals(plan.arrival(), plan.seed(), planned());
  }

  /**
   * Takes the work directory and the lab file as arguments, and {@link RunnerWatch#SAMPLED} if the
   * runner has the nodes sampled around the measured phase. The runner keeps standard input open
   * while it lives.
   */
  public static void main(String[] args) {
    RunnerWatch runner = RunnerWatch.start(() -> {});
    RunnerWatch.outliveSignals();
    int status;
    try {
      Path work = Path.of(args[0]);
      boolean isSampled = args.length > 2 && args[2].equals(RunnerWatch.SAMPLED);
      run(work, Path.of(args[1]), isSampled ? List.of(runner.teller(work)) : List.of());
      status = 0;
    } catch (IOException e) {
      System.err.println(NOT_WRITTEN + e);
      status = EXIT_IO;
    } catch (Throwable e) {
      e.printStackTrace();
      status = 1;
    }
    RunnerWatch.end(status);
  }

  private static void run(Path work, Path lab, List<Observer> given) throws IOException {
    long origin = System.nanoTime();
    final String anchorStart = Utc.now();
    Map<String, Object> result = new LinkedHashMap<>();
    Path file = work.resolve(PLAN);
    PlannedTrial plan = PlannedTrial.of(Json.read(file), file.toString());
    Trial trial = null;
    String outcome;
    String reason;
    try {
      Setting setting = setting(plan, lab);
      trial = new Trial(plan, setting);
      trial.measure(work, LabFile.read(lab), given);
      if (trial.isWhole) {
        result.put("overhead", overhead());
      }
      outcome = trial.outcome();
      reason = trial.reason();
    } catch (Throwable e) {
      MeasuringLoop.exitOnMemory(e);
      e.printStackTrace();
      outcome = FAILED;
      reason = SET_UP_FAILED + ErrorText.of(e);
      trial = null;
    }
    result.put("outcome", outcome);
    result.put("reason", reason);
    result.put("jvm", jvm());
    if (trial != null) {
      trial.log.write(work.resolve(CALLS), origin);
      trial.log.writeParts(work.resolve(PARTS));
      trial.putMeasurements(result);
      if (trial.profiler != null) {
        result.put("profile", trial.profiler.record());
      }
      if (trial.capture != null) {
        trial.capture.write(work);
        result.put("capture", trial.capture.record());
      }
    }
    result.put("clock", clock(origin, anchorStart));
    Durable.replace(work.resolve(RESULT), Json.bytes(result));
  }

  /**
   * Returns the clock of a trial that ends now: it joins times of {@code System.nanoTime()} with
   * the wall clock.
   *
   * @param origin {@code System.nanoTime()} from which the times of calls count
   * @param anchorStart the wall clock at about the same instant
   */
  public static Map<String, Object> clock(long origin, String anchorStart) {
    return Json.of(
        ORIGIN,
        origin,
        "anchor_start_utc",
        anchorStart,
        "anchor_end_utc",
        Utc.now(),
        "elapsed_ns",
        System.nanoTime() - origin);
  }

  private void measure(Path work, LabFile lab, List<Observer> given) throws Exception {
    Client client = ClientPrograms.named(plan.client());
    if (plan.isCaptured()) {
      capture = new Capture(lab, (long) plan.warmup().most() * plan.threads());
      client = capture.around(client);
    }
    try {
      client.open(setting);
      loop =
          new MeasuringLoop(
              client,
              log,
              arrivals,
              plan.threads(),
              plan.warmup(),
              plan.calls(),
              observers(work, given));
      isWhole =
          loop.run(
              new Bounds(
                  nanosToBound() - reserveNanos(),
                  reserveNanos() / 4,
                  setting.callTimeout().toNanos()));
    } finally {
      if (capture != null) {
        capture.close();
      }
      close(client);
    }
  }

  /** Returns the observers, in the order of notification before the measured phase. */
  private List<Observer> observers(Path work, List<Observer> given) {
    List<Observer> observers = new ArrayList<>(given);
    if (plan.isProfiled()) {
      profiler = new JvmProfiler(work);
      observers.add(profiler);
    }
    if (plan.warmup().most() > 0) {
      observers.add(new Settling()); // even without others, so warm-ups are alike
    }
    if (plan.isObserved()) {
      counters = new JvmCounters();
      observers.add(counters);
    }
    return observers;
  }

  /**
   * Closes the client, but does not wait for a server that hangs: the log must still be written.
   */
  private void close(Client client) throws InterruptedException {
    Thread closing = new Thread(() -> MeasuringLoop.close(client), "closing");
    closing.setDaemon(true);
    closing.start();
    TimeUnit.NANOSECONDS.timedJoin(closing, nanosToBound() - reserveNanos() / 2);
    if (closing.isAlive()) {
      System.err.println("closing: not done when the trial had nearly reached its bound");
    }
  }

  private long nanosToBound() {
    long uptime = ManagementFactory.getRuntimeMXBean().getUptime();
    return boundNanos() - TimeUnit.MILLISECONDS.toNanos(uptime);
  }

  private long boundNanos() {
    return TimeUnit.SECONDS.toNanos(plan.timeoutSeconds());
  }

  private long reserveNanos() {
    return reserveNanos(plan.timeoutSeconds());
  }

  /** Returns the nanoseconds of a trial's bound that are reserved for writing its log. */
  public static long reserveNanos(int boundSeconds) {
    return Math.min(
        TimeUnit.SECONDS.toNanos(boundSeconds) / RESERVES_IN_BOUND,
        TimeUnit.SECONDS.toNanos(MOST_RESERVE_S));
  }

  private String outcome() {
    if (!isWhole) {
      return TIMEOUT;
    }
    return isGood() && isInTime() ? OK : FAILED;
  }

  /** Returns whether free threads began the calls of an open loop when they were due. */
  private boolean isInTime() {
    return arrivals == null
        || arrivals.lateNanos() <= Arrivals.allowedNanos(log.medianResponseNanos());
  }

  /** Returns whether enough measured calls were ok for their times to represent the trial. */
  private boolean isGood() {
    return log.measuredOk() > 0 && log.measuredOk() >= plan.leastOk() * planned();
  }

  private int planned() {
    return plan.threads() * plan.calls();
  }

  private String reason() {
    if (!isWhole) {
      return String.format(
          Locale.ROOT,
          "not done within timeout_s = %d s: %d of %d measured calls were made %.1f s before the"
              + " end, when writing had to begin; none of them counts",
          plan.timeoutSeconds(),
          log.measured(),
          planned(),
          reserveNanos() / 1e9);
    } else if (isGood()) {
      return isInTime() ? "" : late();
    }
    return log.measuredOk() == 0
        ? "no measured call was ok"
        : "%d of %d measured calls were ok, fewer than least_ok = %s of them; none of them counts"
            .formatted(log.measuredOk(), planned(), plan.leastOk());
  }

  private String late() {
    return String.format(
        Locale.ROOT,
        "the client could not keep the rate: free threads began their calls up to %.2f ms late"
            + " (p99), and %.2f ms are allowed; keep other load off its processors, warm up longer"
            + " (its JVM may still compile), or lower arrival.rate",
        arrivals.lateNanos() / 1e6,
        Arrivals.allowedNanos(log.medianResponseNanos()) / 1e6);
  }

  private static Map<String, Object> overhead() throws Exception {
    Overhead overhead = Overhead.measure();
    return Json.of("timer_ns", overhead.timerNanos(), "noop_call_ns_p50", overhead.noopCallNanos());
  }

  private void putMeasurements(Map<String, Object> result) {
    result.put("errors", log.errors());
    result.put(
        "warmup",
        Json.of(
            "calls",
            Math.round((double) loop.warmupCalls() / plan.threads()),
            "rows",
            log.warmupRows(),
            "lead_calls",
            loop.leadCalls(),
            "steady",
            loop.isSteady()));
    result.put("cooldown", Json.of("calls", loop.cooldownCalls(), "rows", log.cooldownRows()));
    if (isWhole && arrivals != null) {
      result.put(
          "arrival",
          Json.of("late_p99_ns", arrivals.lateNanos(), "found_free", arrivals.foundFree()));
    }
    result.put("request_header_bytes", log.meanRequestHeaderBytes());
    result.put("response_header_bytes", log.meanResponseHeaderBytes());
    if (isWhole && counters != null) {
      counters.put(result);
    }
  }

  /** Returns the settings of a trial for its client. */
  static Setting setting(PlannedTrial plan, Path lab) throws IOException {
    return new Setting(
        plan.id(),
        plan.object("factors"),
        plan.object("constants"),
        plan.seed(),
        plan.drawing(),
        plan.threads(),
        callTimeout(plan),
        LabFile.read(lab).shifted(plan.shift()));
  }

  private static Duration callTimeout(PlannedTrial plan) {
    double part = (double) plan.timeoutSeconds() / CALLS_IN_BOUND;
    Object seconds = plan.object("constants").getOrDefault("call_timeout_s", part);
    long millis = seconds instanceof Number number ? Math.round(number.doubleValue() * 1000) : 0;
    if (millis < 1 || millis > Integer.MAX_VALUE) { // to sockets, 0 is no limit
      throw new BadInput(
          "constants.call_timeout_s is %s, not a number of seconds within 0.001 to 2147483"
              .formatted(seconds));
    }
    return Duration.ofMillis(millis);
  }

  private static Map<String, Object> jvm() {
    return Json.of(
        "version", System.getProperty("java.runtime.version"),
        "vendor", System.getProperty("java.vendor"),
        "options",
            ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(option -> !option.startsWith(TEMPORARY_OPTION)) // differs between trials
                .toList(),
        "heap_max_bytes", Runtime.getRuntime().maxMemory(),
        "collectors",
            ManagementFactory.getGarbageCollectorMXBeans().stream()
                .map(GarbageCollectorMXBean::getName)
                .toList());
  }
}
