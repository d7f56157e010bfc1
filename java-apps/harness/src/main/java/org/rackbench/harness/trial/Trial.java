package org.rackbench.harness.trial;

import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Setting;

/**
 * The main class of the JVM that the runner starts for one trial. It reads {@link #PLAN} from its
 * work directory and leaves {@link #CALLS} and {@link #RESULT} there. What it prints is kept as the
 * log of the trial.
 */
public final class Trial {

  public static final String PLAN = "plan.json";
  public static final String CALLS = "calls.csv";
  public static final String RESULT = "result.json";

  /** Exit status of a JVM that ran out of memory, the same as HotSpot's ExitOnOutOfMemoryError. */
  public static final int EXIT_MEMORY = 3;

  /** Exit status when the work directory could not be written: no result of the trial's own. */
  public static final int EXIT_IO = 5;

  private static final int EXIT_RUNNER_GONE = 6;

  private final PlannedTrial plan;
  private final Setting setting;
  private final CallLog log;
  private long gcCount;
  private long gcMillis;

  private Trial(PlannedTrial plan, Setting setting) {
    this.plan = plan;
    this.setting = setting;
    this.log = new CallLog(plan.threads(), plan.warmup(), plan.calls());
  }

  /**
   * Takes the work directory and the lab file as arguments. The runner keeps standard input open
   * while it lives.
   */
  public static void main(String[] args) {
    watchRunner();
    finishDespiteSigterm();
    int status;
    try {
      run(Path.of(args[0]), Path.of(args[1]));
      status = 0;
    } catch (IOException e) {
      System.err.println(e);
      status = EXIT_IO;
    } catch (Throwable e) {
      e.printStackTrace();
      status = 1;
    }
    Runtime.getRuntime().halt(status); // a client's stray threads must not keep the JVM up
  }

  private static void run(Path work, Path lab) throws IOException {
    long origin = System.nanoTime();
    final String anchorStart = Utc.now();
    Map<String, Object> result = new LinkedHashMap<>();
    Path file = work.resolve(PLAN);
    PlannedTrial plan = PlannedTrial.of(Json.read(file), file.toString());
    Trial trial = null;
    String reason;
    try {
      Setting setting =
          new Setting(
              plan.id(),
              plan.object("factors"),
              plan.object("constants"),
              plan.seed(),
              plan.threads(),
              callTimeout(plan),
              LabFile.read(lab));
      Overhead overhead = Overhead.measure();
      result.put(
          "overhead",
          Json.of("timer_ns", overhead.timerNanos(), "noop_call_ns_p50", overhead.noopCallNanos()));
      trial = new Trial(plan, setting);
      trial.measure();
      reason = trial.log.measuredOk() > 0 ? "" : "no measured call was ok";
    } catch (Throwable e) {
      MeasuringLoop.exitOnMemory(e);
      e.printStackTrace();
      reason = "set-up failed: " + ErrorText.of(e);
      trial = null;
    }
    result.put("reason", reason);
    result.put("jvm", jvm());
    if (trial != null) {
      trial.log.write(work.resolve(CALLS), origin);
      trial.putMeasurements(result);
    }
    result.put(
        "clock",
        Json.of(
            "anchor_start_utc",
            anchorStart,
            "anchor_end_utc",
            Utc.now(),
            "elapsed_ns",
            System.nanoTime() - origin));
    Durable.replace(work.resolve(RESULT), Json.bytes(result));
  }

  private void measure() throws Exception {
    Client client = ClientPrograms.named(plan.client());
    try {
      client.open(setting);
      new MeasuringLoop(client, log, plan.threads(), plan.warmup(), plan.calls(), () -> countGc(-1))
          .run();
      countGc(1);
    } finally {
      MeasuringLoop.close(client);
    }
  }

  private void putMeasurements(Map<String, Object> result) {
    result.put("errors", log.errors());
    result.put("request_header_bytes", log.meanRequestHeaderBytes());
    result.put("response_header_bytes", log.meanResponseHeaderBytes());
    result.put("gc", Json.of("count", gcCount, "millis", gcMillis));
  }

  private static Duration callTimeout(PlannedTrial plan) {
    Object seconds = plan.object("constants").getOrDefault("call_timeout_s", plan.timeoutSeconds());
    if (seconds instanceof Number number && number.doubleValue() > 0) {
      return Duration.ofMillis(Math.round(number.doubleValue() * 1000));
    }
    throw new BadInput("constants.call_timeout_s is " + seconds + ", not a number of seconds > 0");
  }

  private void countGc(int sign) {
    for (GarbageCollectorMXBean gc : ManagementFactory.getGarbageCollectorMXBeans()) {
      gcCount += sign * Math.max(0, gc.getCollectionCount());
      gcMillis += sign * Math.max(0, gc.getCollectionTime());
    }
  }

  private static Map<String, Object> jvm() {
    return Json.of(
        "version", System.getProperty("java.runtime.version"),
        "vendor", System.getProperty("java.vendor"),
        "options", ManagementFactory.getRuntimeMXBean().getInputArguments(),
        "heap_max_bytes", Runtime.getRuntime().maxMemory());
  }

  /** Ends this JVM when the runner has died: only then is the end of standard input reached. */
  private static void watchRunner() {
    Thread watch =
        new Thread(
            () -> {
              try {
                while (System.in.read() >= 0) {
                  continue;
                }
              } catch (IOException e) {
                // as good as its end
              }
              Runtime.getRuntime().halt(EXIT_RUNNER_GONE);
            },
            "runner-watch");
    watch.setDaemon(true);
    watch.start();
  }

  /**
   * Ignores SIGTERM. A runner that is asked to stop lets the running trial end, and a signal to the
   * whole process group reaches this JVM too.
   */
  private static void finishDespiteSigterm() {
    CountDownLatch never = new CountDownLatch(1);
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  try {
                    never.await();
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                }));
  }
}
