package org.rackbench.harness.program;

import java.io.IOException;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.OffsetDateTime;
import java.util.BitSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.rackbench.harness.trial.BadInput;
import org.rackbench.harness.trial.Json;

/**
 * The form {@code vegeta}: the output of {@code vegeta encode}, JSON or CSV, a result a line.
 * vegeta records when it sent a call. In an open loop, call number n was due n gaps after the first
 * one. The schedule begins at the latest time for which no call was sent before it was due.
 */
final class Vegeta implements Form.Reader {

  /** A result as vegeta writes it. */
  private record Hit(
      String where,
      long seq,
      long start,
      long latency,
      long bytesOut,
      long bytesIn,
      int code,
      String error) {}

  /** A receiver of each result. */
  private interface Taker {
    void take(Hit hit) throws IOException, UnreadableOutput;
  }

  private static final int COLUMNS = 12;
  private static final int MOST_SEQ = 1 << 28;
  private static final int FIRST_BAD = 400;
  private static final int NO_ANSWER = 0;

  @Override
  public Summary read(Path output, CallFile calls) throws IOException, UnreadableOutput {
    if (calls.arrival() == null) {
      each(output, hit -> calls.add(hit.where(), call(hit, Call.NONE)));
      return null;
    }
    double gap = TimeUnit.SECONDS.toNanos(1) / calls.arrival().rate();
    long[] begun = {Long.MAX_VALUE};
    each(output, hit -> begun[0] = Math.min(begun[0], hit.start() - offset(hit, gap)));
    each(output, hit -> calls.add(hit.where(), call(hit, begun[0] + offset(hit, gap))));
    return null;
  }

  /** Refuses a number that appears twice: each attack has a schedule of its own, from seq 0. */
  private static Hit counted(Hit hit, BitSet numbers) throws UnreadableOutput {
    if (hit.seq() < 0 || hit.seq() >= MOST_SEQ) {
      throw new UnreadableOutput(
          "%s has the seq %d, which is no number of a call".formatted(hit.where(), hit.seq()));
    }
    if (numbers.get((int) hit.seq())) {
      throw new UnreadableOutput(
          "%s has the seq %d again; let the command encode one attack"
              .formatted(hit.where(), hit.seq()));
    }
    numbers.set((int) hit.seq());
    return hit;
  }

  private static long offset(Hit hit, double gap) {
    return Math.round(hit.seq() * gap);
  }

  private static Call call(Hit hit, long due) {
    boolean isOk = hit.error().isEmpty() && hit.code() < FIRST_BAD && hit.code() != NO_ANSWER;
    String said = hit.error().toLowerCase(Locale.ROOT);
    boolean isLate =
        said.contains("timeout") || said.contains("timed out") || said.contains("deadline");
    String text = hit.error().isEmpty() ? "status " + hit.code() : hit.error();
    return new Call(
        false,
        Call.NONE,
        due,
        hit.start(),
        hit.latency(),
        hit.bytesOut(),
        hit.bytesIn(),
        isOk ? Call.OK : isLate ? "timeout" : "error",
        text);
  }

  private static void each(Path output, Taker taker) throws IOException, UnreadableOutput {
    boolean isJson;
    try (Lines lines = new Lines(output)) {
      String first = lines.next();
      isJson = first != null && first.startsWith("{");
    }
    BitSet numbers = new BitSet();
    try (Lines lines = new Lines(output)) {
      if (isJson) {
        for (String line = lines.next(); line != null; line = lines.next()) {
          taker.take(counted(ofJson(lines.where(), line), numbers));
        }
        return;
      }
      CsvRecords records = new CsvRecords(lines);
      for (List<String> one = records.next(); one != null; one = records.next()) {
        taker.take(counted(ofCsv(lines.where(), one), numbers));
      }
    }
  }

  private static Hit ofJson(String where, String line) throws UnreadableOutput {
    Map<String, Object> said;
    try {
      said = Json.parse(line, where);
    } catch (BadInput e) {
      throw other(where);
    }
    if (!(said.get("timestamp") instanceof String time)) {
      throw other(where);
    }
    try {
      OffsetDateTime at = OffsetDateTime.parse(time);
      return new Hit(
          where,
          whole(where, said, "seq"),
          Math.addExact(TimeUnit.SECONDS.toNanos(at.toEpochSecond()), at.getNano()),
          whole(where, said, "latency"),
          whole(where, said, "bytes_out"),
          whole(where, said, "bytes_in"),
          (int) whole(where, said, "code"),
          said.get("error") instanceof String error ? error : "");
    } catch (DateTimeException | ArithmeticException e) {
      throw new UnreadableOutput("%s has the timestamp '%s', no time".formatted(where, time));
    }
  }

  private static long whole(String where, Map<String, Object> said, String key)
      throws UnreadableOutput {
    Object value = said.get(key);
    if (value instanceof Integer || value instanceof Long) {
      return ((Number) value).longValue();
    }
    throw new UnreadableOutput("%s has the %s %s, not a whole number".formatted(where, key, value));
  }

  private static Hit ofCsv(String where, List<String> values) throws UnreadableOutput {
    if (values.size() != COLUMNS) {
      throw other(where);
    }
    try {
      return new Hit(
          where,
          Long.parseLong(values.get(8)),
          Long.parseLong(values.get(0)),
          Long.parseLong(values.get(2)),
          Long.parseLong(values.get(3)),
          Long.parseLong(values.get(4)),
          Integer.parseInt(values.get(1)),
          values.get(5));
    } catch (NumberFormatException e) {
      throw other(where);
    }
  }

  private static UnreadableOutput other(String where) {
    return new UnreadableOutput(
        where + " is no result of vegeta; write the output of `vegeta encode`, JSON or CSV");
  }
}
