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
 * What the client, the servers of a trial and the kit's services on them used while it ran: {@code
 * resources.csv}. Nodes sample totals (see the role {@code health}); here they become differences
 * on the time scale of the trial's JVM.
 */
final class Resources {

  static final String FILE = "resources.csv";

  static final String HEADER =
      "t_ns,node,service,cpu_cores,rss_bytes,rx_bytes,tx_bytes,retransmits,disk_read_bytes,disk_write_bytes,gc_ms\n";

  /** Samples of a service that are asked for, of all nodes together; more are thinned out. */
  private static final int MOST_SAMPLES = 3600;

  private static final int FEWEST_SAMPLES = 30;

  private static final String EARLIER_VERSION =
      "its health service is of an earlier version; run site.yml again";

  /**
   * The answer of a node; without one, the reason why there is none.
   *
   * @param askedAt when it was asked, and {@code answeredAt} when it had answered, in nanoseconds
   *     as of {@link System#nanoTime}
   */
  record Told(Map<String, Object> answer, String missing, long askedAt, long answeredAt) {

    static Told missing(String reason) {
      return new Told(Map.of(), reason, 0, 0);
    }

    /** Returns the answer, or that it is none of samples. */
    Told checked() {
      boolean isOfSamples =
          answer.get("series") instanceof Map<?, ?>
              && answer.get("now_ns") instanceof Number
              && answer.get("took_ns") instanceof Number;
      return missing.isEmpty() && !isOfSamples ? missing(EARLIER_VERSION) : this;
    }

    /** Returns what the node's clock must be added to, to be that of {@link System#nanoTime}. */
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

    static final int CPU = 2;
    static final int RSS = 3;
    static final int FIRST_SUM = 4;
    static final int GC = 9;

    static Totals of(Object sample) {
      List<?> values = (List<?>) sample;
      return new Totals(((Number) values.get(0)).longValue(), values.get(1), values);
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

  private final Map<String, CompletableFuture<Told>> asked;
  private final String client;
  private final Object plannedMegabits;

  private Resources(
      Map<String, CompletableFuture<Told>> asked, String client, Object plannedMegabits) {
    this.asked = asked;
    this.client = client;
    this.plannedMegabits = plannedMegabits;
  }

  /**
   * Begins to ask the nodes that {@code before} saw, all at once, what was used since then.
   *
   * @param before the look from which the trial began
   */
  static Resources ask(Health health, PlannedTrial trial, Look before) {
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
    Object megabits = Look.object(trial.line().get("node")).get("link_mbit");
    return new Resources(asked, health.clientName(), megabits);
  }

  /**
   * Writes resources.csv into {@code attempt} when all nodes have answered.
   *
   * @param origin {@code System.nanoTime()} from which the trial's times count
   * @return what trial.json says of it; empty when the lab has no health sockets
   */
  Map<String, Object> write(Path attempt, long origin) throws IOException {
    if (asked.isEmpty()) {
      return Map.of();
    }
    Map<String, Told> told = new LinkedHashMap<>();
    asked.forEach((name, answer) -> told.put(name, answer.join().checked()));
    Object here = told.containsKey(client) ? told.get(client).boot() : null;
    StringBuilder rows = new StringBuilder(HEADER);
    Map<String, Object> nodes = new LinkedHashMap<>();
    int count = 0;
    for (Map.Entry<String, Told> of : told.entrySet()) {
      Told node = of.getValue();
      int its = 0;
      if (node.missing().isEmpty()) {
        // Nodes that share a kernel share its clock, and no network can say it more exactly.
        boolean isOurs = of.getKey().equals(client) || here != null && here.equals(node.boot());
        its = add(rows, of.getKey(), node, (isOurs ? 0 : node.offset()) - origin);
      }
      count += its;
      String missing =
          node.missing().isEmpty() && its == 0
              ? "it has no sample of the time of the trial"
              : node.missing();
      nodes.put(of.getKey(), described(node, missing));
    }
    Path file = attempt.resolve(FILE);
    Files.writeString(file, rows);
    String sha256 = FileSeal.of(file).sha256();
    return Json.of("file", FILE, "rows", count, "sha256", sha256, "nodes", nodes);
  }

  private Map<String, Object> described(Told node, String missing) {
    Map<String, Object> answer = node.answer();
    // The rate of a virtual link is set for the trial; hardware says its own, if it does.
    boolean isSet = Boolean.FALSE.equals(answer.get("link_is_hardware"));
    return Json.of(
        "cores", answer.get("cores"),
        "boot", answer.get("boot"),
        "link_mbit", isSet ? plannedMegabits : answer.get("link_mbit"),
        "memory_bytes", answer.get("memory_bytes"),
        "limits", answer.getOrDefault("limits", Map.of()),
        "missing", missing);
  }

  /** Adds the rows of a node and returns how many they are. */
  private static int add(StringBuilder rows, String node, Told told, long shift) {
    int count = 0;
    Map<String, Object> byName = new TreeMap<>();
    ((Map<?, ?>) told.answer().get("series"))
        .forEach((service, samples) -> byName.put(service.toString(), samples));
    for (Map.Entry<String, Object> of : byName.entrySet()) {
      Totals before = null;
      for (Object sample : (List<?>) of.getValue()) {
        Totals totals = Totals.of(sample);
        rows.append(totals.at() + shift).append(',').append(node).append(',');
        rows.append(of.getKey()).append(',');
        row(rows, totals, totals.follows(before) ? before : null);
        before = totals;
        count++;
      }
    }
    return count;
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
