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
 * and their samples counts the same time twice and is refused.
 */
final class Jtl implements Form.Reader {

  private static final List<String> NEEDED =
      List.of("timeStamp", "elapsed", "success", "responseMessage");

  private static final String HINT =
      "let JMeter write CSV with commas and a first line"
          + " (jmeter.save.saveservice.default_delimiter, .print_field_names)";

  private static final String TRANSACTION = "Number of samples in transaction";

  private static final List<String> STATUSES = List.of("error", "wrong", "timeout");

  @Override
  public Summary read(Path output, CallFile calls) throws IOException, UnreadableOutput {
    Map<String, Integer> threads = new HashMap<>();
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
                  + " have JMeter generate parent samples, or take the controllers out");
        }
        calls.add(row.where(), call(row, threads));
      }
    }
    return null;
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
