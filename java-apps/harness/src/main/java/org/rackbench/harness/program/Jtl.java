package org.rackbench.harness.program;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The form {@code jtl}: the CSV log of JMeter, with its header line. A log with both transactions
 * and their samples counts the same time twice and is refused, as is one with both a sample and its
 * sub-results, such as the steps of a redirect.
 */
final class Jtl implements Form.Reader {

  private static final List<String> NEEDED =
      List.of("timeStamp", "elapsed", "success", "responseMessage");

  private static final String HINT =
      "let JMeter write CSV with commas and a first line"
          + " (jmeter.save.saveservice.default_delimiter, .print_field_names)";

  private static final String WHOLE_SAMPLES =
      "let JMeter write whole samples (jmeter.save.saveservice.subresults=false)";

  private static final String TRANSACTION = "Number of samples in transaction";

  private static final List<String> STATUSES = List.of("error", "wrong", "timeout");

  @Override
  public Summary read(Path output, CallFile calls) throws IOException, UnreadableOutput {
    Map<String, Integer> threads = new HashMap<>();
    Map<String, Sample> latest = new HashMap<>();
    boolean hasTransactions = false;
    boolean hasOthers = false;
    try (Lines lines = new Lines(output)) {
      Table table = new Table(lines, NEEDED, HINT);
      for (Row row = table.next(); row != null; row = table.next()) {
        boolean isTransaction = row.text("responseMessage").startsWith(TRANSACTION);
        hasTransactions |= isTransaction;
        hasOthers |= !isTransaction;
        if (hasTransactions && hasOthers) {
          throw new UnreadableOutput(
              row.where()
                  + ": there are transactions and single samples, so times are counted twice;"
                  + " have JMeter generate parent samples, and write those alone"
                  + " (jmeter.save.saveservice.subresults=false), or take the controllers out");
        }
        Call call = call(row, threads);
        Sample sample = Sample.of(row, call);
        Sample whole = latest.put(row.text("threadName"), sample);
        if (whole != null && sample.isPartOf(whole)) {
          throw new UnreadableOutput(
              "%s: %s is a part of the sample %s, so times are counted twice; %s"
                  .formatted(row.where(), sample.label(), whole.label(), WHOLE_SAMPLES));
        }
        calls.add(row.where(), call);
      }
    }
    return null;
  }

  /** The time of a sample, in nanoseconds, under its label. */
  private record Sample(String label, long start, long end) {

    static Sample of(Row row, Call call) {
      return new Sample(row.text("label"), call.start(), call.start() + call.elapsed());
    }

    /** JMeter numbers the sub-results of {@code home}, which it writes after it: {@code home-0}. */
    boolean isPartOf(Sample whole) {
      return label.startsWith(whole.label)
          && label.substring(whole.label.length()).matches("-[0-9]+")
          && start >= whole.start
          && start < whole.end
          && end <= whole.end;
    }
  }

  private static Call call(Row row, Map<String, Integer> threads) throws UnreadableOutput {
    long count = row.wholeOrNone("SampleCount");
    if (count != Call.NONE && count != 1) {
      throw new UnreadableOutput(
          "%s sums %d samples; let JMeter log each one (mode=Standard)"
              .formatted(row.where(), count));
    }
    String name = row.text("threadName");
    String status = status(row);
    return new Call(
        false,
        name.isEmpty() ? Call.NONE : threads.computeIfAbsent(name, it -> threads.size()),
        Call.NONE,
        nanos(row, "timeStamp"),
        nanos(row, "elapsed"),
        row.wholeOrNone("sentBytes"),
        row.wholeOrNone("bytes"),
        status,
        reason(row, status));
  }

  private static long nanos(Row row, String column) throws UnreadableOutput {
    long millis = row.whole(column);
    if (millis > Long.MAX_VALUE / 1_000_000) {
      throw new UnreadableOutput(
          "%s has the %s %d, too many milliseconds".formatted(row.where(), column, millis));
    }
    return TimeUnit.MILLISECONDS.toNanos(millis);
  }

  /** Returns the status that {@code collect import} gives to such a row. */
  private static String status(Row row) throws UnreadableOutput {
    if (row.word("success", List.of("true", "false"), null).equals("true")) {
      return Call.OK;
    }
    String code = row.text("responseCode");
    if (STATUSES.contains(code)) {
      return code;
    }
    String said = (code + " " + row.text("responseMessage")).toLowerCase(Locale.ROOT);
    if (said.contains("timeout") || said.contains("timed out")) {
      return "timeout";
    }
    return row.text("failureMessage").isEmpty() ? "error" : "wrong"; // an assertion failed
  }

  private static String reason(Row row, String status) {
    for (String column : List.of("failureMessage", "responseMessage", "responseCode")) {
      if (!row.text(column).isEmpty()) {
        return row.text(column);
      }
    }
    return status;
  }
}
