package org.rackbench.harness.trial;

import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * One line of {@code plan.jsonl} (schema 1).
 *
 * @param line the whole line, for values that the runner only passes on
 * @param calls measured calls of each client thread
 * @param warmup warm-up calls of each client thread, or the rule that ends them
 * @param timeoutSeconds bound of the whole trial
 * @param arrival how calls arrive in an open loop; null in a closed one
 */
public record PlannedTrial(
    Map<String, Object> line,
    String id,
    String client,
    int calls,
    Warmup warmup,
    int threads,
    int timeoutSeconds,
    long seed,
    Arrival arrival) {

  private static final Pattern NAME = Pattern.compile("[a-z0-9][a-z0-9.-]*");
  private static final int DEFAULT_HEAP_MB = 512;
  private static final int NEWEST_DRAWING = 2; // of CallData in the workloads
  private static final Map<String, String> COLLECTORS =
      Map.of(
          "serial", "-XX:+UseSerialGC",
          "parallel", "-XX:+UseParallelGC",
          "g1", "-XX:+UseG1GC");

  /**
   * Returns the trial of a line.
   *
   * @param where file:line, with which the message about an error begins
   */
  public static PlannedTrial of(Map<String, Object> line, String where) {
    if (whole(line, "schema", where, 1) != 1) {
      throw new BadInput(where + ": schema is not 1; make a new plan with this version");
    }
    PlannedTrial trial =
        new PlannedTrial(
            line,
            name(line, "id", where),
            name(line, "client", where),
            (int) whole(line, "calls", where, 1),
            Warmup.of(line.get("warmup"), where),
            (int) whole(line, "threads", where, 1),
            (int) whole(line, "timeout_s", where, 1),
            whole(line, "seed", where, Long.MIN_VALUE),
            Arrival.of(line.get("arrival"), where));
    for (String key : List.of("factors", "constants")) {
      if (!(line.get(key) instanceof Map)) {
        throw new BadInput("%s: '%s' is not an object".formatted(where, key));
      }
    }
    if (trial.jvmOptions() == null || trial.heapMegabytes() < 1) {
      throw new BadInput(
          where + ": constants.client_heap_mb must be a whole number > 0 and jvm_options a list");
    }
    if (trial.collectorOption() == null) {
      throw new BadInput(
          "%s: constants.collector is %s; write one of serial, parallel, g1 in the study file"
              .formatted(where, trial.object("constants").get("collector")));
    }
    if (trial.jdk() < 0) {
      throw new BadInput(
          "%s: constants.jdk is %s; write the release of a JDK in the study file"
              .formatted(where, trial.object("constants").get("jdk")));
    }
    if (trial.needs() == null || trial.servers() < 1) {
      throw new BadInput(
          where
              + ": 'needs' must be a list of services and 'servers' a whole number > 0;"
              + " make a new plan");
    }
    if (trial.leastOk() < 0 || trial.leastOk() > 1) {
      throw new BadInput(
          "%s: 'least_ok' is %s, not a share of 0 to 1; make a new plan"
              .formatted(where, line.get("least_ok")));
    }
    if (trial.drawing() < 1 || trial.drawing() > NEWEST_DRAWING) {
      throw new BadInput(
          "%s: 'drawing' is %s, not within 1 to %d; use the version that made the plan"
              .formatted(where, line.get("drawing"), NEWEST_DRAWING));
    }
    if (trial.shift() < 0) {
      throw new BadInput(where + ": 'shift' is not a whole number >= 0; make a new plan");
    }
    return trial;
  }

  /**
   * Returns the services that must answer; null if the value is not a list. Plans of earlier
   * versions have none.
   */
  public List<String> needs() {
    return line.getOrDefault("needs", List.of()) instanceof List<?> list
        ? list.stream().map(Object::toString).toList()
        : null;
  }

  /** Returns the number of workers, in pool order, whose services the trial uses. */
  public int servers() {
    return line.getOrDefault("servers", 1) instanceof Integer servers ? servers : 0;
  }

  /** Returns the number of places by which the list of workers is shifted for this trial. */
  public int shift() {
    return line.getOrDefault("shift", 0) instanceof Integer shift ? shift : -1;
  }

  /** Returns the number of the drawing of calls' data; plans of earlier versions have 1. */
  public int drawing() {
    return line.getOrDefault("drawing", 1) instanceof Integer drawing ? drawing : 0;
  }

  /** Returns the number of the block, from 1; 0 if the line has none. */
  public int block() {
    return line.get("block") instanceof Integer block ? block : 0;
  }

  /** Returns whether the services are restarted for the trial's block. */
  public boolean isRestartedForBlock() {
    return isProfiled() || "block".equals(line.get("restart")) && !isCaptured();
  }

  /** Returns whether the trial runs with a profiler; it never counts. */
  public boolean isProfiled() {
    return Boolean.TRUE.equals(line.get("profiled"));
  }

  /** Returns whether the packets of the trial's call are kept; it never counts. */
  public boolean isCaptured() {
    return Boolean.TRUE.equals(line.get("captured"));
  }

  /**
   * Returns whether observers other than the health checks watch the trial: not with the constant
   * {@code observe: none}. A trial with a profiler never counts and is always observed.
   */
  public boolean isObserved() {
    return isProfiled() || !"none".equals(object("constants").get("observe"));
  }

  /**
   * Returns the share of the measured calls that must be ok for their times to count. Plans of
   * earlier versions have none: one call was enough.
   */
  public double leastOk() {
    return line.getOrDefault("least_ok", 0) instanceof Number share ? share.doubleValue() : -1;
  }

  /** Returns whether the trial counts in the results. */
  public boolean isCounted() {
    return !isProfiled() && !isCaptured();
  }

  public Map<String, Object> object(String key) {
    @SuppressWarnings("unchecked")
    Map<String, Object> object = (Map<String, Object>) line.get(key);
    return object;
  }

  /** Returns the heap of the trial's JVM in MiB: constant {@code client_heap_mb}. */
  public int heapMegabytes() {
    Object heap = object("constants").getOrDefault("client_heap_mb", DEFAULT_HEAP_MB);
    return heap instanceof Integer megabytes ? megabytes : 0;
  }

  /**
   * Returns the option for the collector of the trial's JVM: constant {@code collector} (serial,
   * parallel, g1). Plans of earlier versions have none, and the JVM chooses; null if it is another
   * word.
   */
  public List<String> collectorOption() {
    Object collector = object("constants").get("collector");
    if (collector == null) {
      return List.of();
    }
    String option = COLLECTORS.get(collector.toString());
    return option == null ? null : List.of(option);
  }

  /**
   * Returns the JDK release for the trial's JVM: constant {@code jdk}; 0 for the release of the
   * runner, -1 if the constant is not a release.
   */
  public int jdk() {
    Object release = object("constants").getOrDefault("jdk", 0);
    return release instanceof Integer number ? number : -1;
  }

  /**
   * Returns further options of the trial's JVM: constant {@code jvm_options}; null if it is not a
   * list.
   */
  public List<String> jvmOptions() {
    Object options = object("constants").getOrDefault("jvm_options", List.of());
    return options instanceof List<?> list ? list.stream().map(Object::toString).toList() : null;
  }

  private static String name(Map<String, Object> line, String key, String where) {
    if (line.get(key) instanceof String text && NAME.matcher(text).matches()) {
      return text;
    }
    throw new BadInput(
        "%s: '%s' is %s, not a name of [a-z0-9.-]; make a new plan"
            .formatted(where, key, line.get(key)));
  }

  private static long whole(Map<String, Object> line, String key, String where, long minimum) {
    Object value = line.get(key);
    if ((value instanceof Integer || value instanceof Long)
        && ((Number) value).longValue() >= minimum
        && (key.equals("seed") || value instanceof Integer)) {
      return ((Number) value).longValue();
    }
    throw new BadInput(
        "%s: '%s' is %s, not a whole number >= %d; make a new plan"
            .formatted(where, key, value, minimum));
  }
}
