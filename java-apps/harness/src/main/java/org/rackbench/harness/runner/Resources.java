package org.rackbench.harness.runner;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.PlannedTrial;

/**
 * The resources that the client, the servers of a trial and rackbench's services on them used while
 * it ran: {@code resources.csv}. Nodes sample totals (see the role {@code health}); this class
 * turns them into differences on the time scale of the trial's JVM.
 */
final class Resources implements Observer {

  static final String FILE = "resources.csv";

  static final String HEADER =
      "t_ns,node,service,cpu_cores,rss_bytes,rx_bytes,tx_bytes,retransmits,disk_read_bytes,disk_write_bytes,gc_ms\n";

  /** Samples of a service to ask for, over all nodes together; longer series are thinned. */
  private static final int MOST_SAMPLES = 3600;

  private static final int FEWEST_SAMPLES = 30;

  private static final String EARLIER_VERSION =
      "its health service is of an earlier version; run site.yml again";

  /**
   * The answer of a node, or the reason why there is none.
   *
   * @param askedAt time of the request, and {@code answeredAt} the time of the answer, in
   *     nanoseconds as of {@link System#nanoTime}
   */
  record Told(Map<String, Object> answer, String missing, long askedAt, long answeredAt) {

    static Told missing(String reason) {
      return new Told(Map.of(), reason, 0, 0);
    }

    /** Returns the answer, or the reason why it has no samples. */
    Told checked() {
      if (!missing.isEmpty()) {
        return this;
      }
      for (String key : List.of("series", "now_ns", "took_ns")) {
        Object value = answer.get(key);
        if (value == null) {
          return missing(EARLIER_VERSION);
        }
        if (key.equals("series") ? !(value instanceof Map<?, ?>) : !(value instanceof Number)) {
          return missing("its answer is malformed: %s is %s".formatted(key, value));
        }
      }
      return this;
    }

    /** Returns the difference of {@link System#nanoTime} and the node's clock, in nanoseconds. */
    long offset() {
      long cameIn = number("now_ns");
      long wentOut = cameIn + number("took_ns");
      return ((askedAt - cameIn) + (answeredAt - wentOut)) / 2;
    }

    Object boot() {
      return answer.get("boot");
    }

    private long number(String key) {
      return ((Number) answer.get(key)).longValue();
    }
  }

  /** The totals of one sample in the order of the node's columns; null is unknown. */
  private record Totals(long at, Object start, List<?> values) {

    static final int AT = 0;
    static final int START = 1;
    static final int CPU = 2;
    static final int RSS = 3;
    static final int FIRST_SUM = 4;
    static final int GC = 9;

    static Totals of(Object sample) {
      List<?> values = (List<?>) sample;
      return new Totals(((Number) values.get(AT)).longValue(), values.get(START), values);
    }

    /** Returns why a value is not a sample, or "". */
    static String fault(Object sample) {
      if (!(sample instanceof List<?> values) || values.size() <= GC) {
        return "%s is not a list of %d columns".formatted(sample, GC + 1);
      }
      for (int column = 0; column <= GC; column++) {
        Object value = values.get(column);
        boolean isWhole = value instanceof Integer || value instanceof Long;
        if (column != START && !isWhole && (column == AT || value != null)) {
          return "column %d of %s is not a whole number".formatted(column + 1, sample);
        }
      }
      return "";
    }

    Long value(int column) {
      return values.get(column) instanceof Number number ? number.longValue() : null;
    }

    /** Returns whether the counters of both count from the same moment. */
    boolean follows(Totals before) {
      if (before == null || at <= before.at || !String.valueOf(start).equals("" + before.start)) {
        return false;
      }
      for (int column = CPU; column <= GC; column++) {
        Long grown = column == RSS ? null : grown(column, before);
        if (grown != null && grown < 0) {
          return false;
        }
      }
      return true;
    }

    Long grown(int column, Totals before) {
      return value(column) == null || before.value(column) == null
          ? null
          : Long.valueOf(value(column) - before.value(column));
    }
  }

  /** The rows of resources.csv, and the entry of each node in trial.json. */
  private record Series(StringBuilder rows, Map<String, Object> nodes) {}

  private final Health health;

  Resources(Health health) {
    this.health = health;
  }

  @Override
  public void before(Observation attempt) {}

  /** Writes resources.csv; contributes nothing if the lab has no health sockets. */
  @Override
  public Map<String, Object> after(Observation attempt) throws IOException {
    PlannedTrial trial = attempt.trial();
    Map<String, Told> told = new LinkedHashMap<>();
    ask(trial, attempt.lookBefore())
        .forEach((name, answer) -> told.put(name, answer.join().checked()));
    if (told.isEmpty()) {
      return Map.of();
    }
    Object megabits = Look.object(trial.line().get("node")).get("link_mbit");
    Series series = series(told, attempt.record().origin(attempt.launched()), megabits);
    Path file = attempt.directory().resolve(FILE);
    Files.writeString(file, series.rows());
    FileSeal seal = FileSeal.of(file);
    return Map.of(
        "resources",
        Json.of(
            "file", FILE, "rows", seal.rows(), "sha256", seal.sha256(), "nodes", series.nodes()));
  }

  /** Asks all nodes of {@code before}, in parallel, for the resources used since then. */
  private Map<String, CompletableFuture<Told>> ask(PlannedTrial trial, Look before) {
    Map<String, ServingNode> nodes = health.nodes(trial);
    int most = Math.max(FEWEST_SAMPLES, MOST_SAMPLES / Math.max(1, nodes.size()));
    Map<String, CompletableFuture<Told>> asked = new TreeMap<>();
    nodes.forEach(
        (name, server) -> {
          Map<String, Object> report = before.reports().getOrDefault(name, Map.of());
          if (report.get("sampled_ns") instanceof Number since) {
            asked.put(name, health.used(server, since.longValue(), most));
          } else {
            String why = report.isEmpty() ? "it did not answer before the trial" : EARLIER_VERSION;
            asked.put(name, CompletableFuture.completedFuture(Told.missing(why)));
          }
        });
    return asked;
  }

  /**
   * Returns the differences of the totals of all nodes.
   *
   * @param origin {@code System.nanoTime()} from which the trial's times count
   * @param megabits the planned rate of a virtual link
   */
  private Series series(Map<String, Told> told, long origin, Object megabits) {
    String client = health.clientName();
    Object here = told.containsKey(client) ? told.get(client).boot() : null;
    StringBuilder rows = new StringBuilder(HEADER);
    Map<String, Object> nodes = new LinkedHashMap<>();
    told.forEach(
        (name, node) -> {
          // Nodes that share a kernel share its clock, which is more exact than any estimate.
          boolean isOurs = name.equals(client) || here != null && here.equals(node.boot());
          String missing = node.missing();
          if (missing.isEmpty()) {
            missing = add(rows, name, node, (isOurs ? 0 : node.offset()) - origin);
          }
          nodes.put(name, described(node, missing, megabits));
        });
    return new Series(rows, nodes);
  }

  private static Map<String, Object> described(Told node, String missing, Object megabits) {
    Map<String, Object> answer = node.answer();
    // The plan sets the rate of a virtual link; hardware may report its own.
    boolean isSet = Boolean.FALSE.equals(answer.get("link_is_hardware"));
    return Json.of(
        "cores", answer.get("cores"),
        "boot", answer.get("boot"),
        "link_mbit", isSet ? megabits : answer.get("link_mbit"),
        "memory_bytes", answer.get("memory_bytes"),
        "limits", answer.getOrDefault("limits", Map.of()),
        "missing", missing);
  }

  /** Adds all rows of a node or none, and returns why there is none, or "". */
  private static String add(StringBuilder rows, String node, Told told, long shift) {
    StringBuilder its = new StringBuilder();
    Map<String, Object> byName = new TreeMap<>();
    ((Map<?, ?>) told.answer().get("series"))
        .forEach((service, samples) -> byName.put(service.toString(), samples));
    for (Map.Entry<String, Object> of : byName.entrySet()) {
      String fault = add(its, node + "," + of.getKey(), of.getValue(), shift);
      if (!fault.isEmpty()) {
        return "its samples of '%s' are malformed: %s".formatted(of.getKey(), fault);
      }
    }
    rows.append(its);
    return its.isEmpty() ? "it has no sample from the time of the trial" : "";
  }

  /** Adds the rows of a service of a node and returns their fault, or "". */
  private static String add(StringBuilder rows, String cells, Object samples, long shift) {
    if (!(samples instanceof List<?> list)) {
      return samples + " is not a list";
    }
    Totals before = null;
    for (Object sample : list) {
      String fault = Totals.fault(sample);
      if (!fault.isEmpty()) {
        return fault;
      }
      Totals totals = Totals.of(sample);
      rows.append(totals.at() + shift).append(',').append(cells).append(',');
      row(rows, totals, totals.follows(before) ? before : null);
      before = totals;
    }
    return "";
  }

  /** Adds the cells from cpu_cores on; without {@code before}, only the memory is known. */
  private static void row(StringBuilder rows, Totals totals, Totals before) {
    Long cpu = before == null ? null : totals.grown(Totals.CPU, before);
    if (cpu != null) {
      double cores = cpu * 1e3 / (totals.at() - before.at());
      rows.append(BigDecimal.valueOf(Math.round(cores * 1e4), 4).toPlainString());
    }
    cell(rows, totals.value(Totals.RSS));
    for (int column = Totals.FIRST_SUM; column < Totals.GC; column++) {
      cell(rows, before == null ? null : totals.grown(column, before));
    }
    Long micros = before == null ? null : totals.grown(Totals.GC, before);
    cell(rows, micros == null ? null : BigDecimal.valueOf(micros, 3).toPlainString());
    rows.append('\n');
  }

  private static void cell(StringBuilder rows, Object value) {
    rows.append(',').append(value == null ? "" : value);
  }
}
