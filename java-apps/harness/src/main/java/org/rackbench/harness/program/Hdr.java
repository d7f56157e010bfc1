package org.rackbench.harness.program;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Base64;
import java.util.concurrent.TimeUnit;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/**
 * The form {@code hdr}: a log of HdrHistogram, format 1.2 or 1.3, of at most one tag, because tags
 * keep apart calls that one mean must not hold. Its values must be nanoseconds; then the largest
 * value of an interval is a million times its {@code Interval_Max}, which is in milliseconds.
 */
final class Hdr implements Form.Reader {

  private static final int COLUMNS = 4;
  private static final int DIGITS = 3;
  private static final double NANOS_A_MILLI = 1e6;

  /** Tolerance: Interval_Max has three decimals, and the largest value is that of its bucket. */
  private static final double RATIO_SHARE = 0.02;

  private static final double SHORTEST_MILLIS = 0.1;

  /**
   * A line of the log.
   *
   * @param begin in seconds, of any clock
   * @param seconds its length
   */
  private record Interval(double begin, double seconds, Histogram values) {}

  @Override
  public Summary read(Path output, CallFile calls) throws IOException, UnreadableOutput {
    Histogram all = new Histogram(DIGITS);
    String tag = null;
    double from = Double.POSITIVE_INFINITY;
    double to = Double.NEGATIVE_INFINITY;
    try (Lines lines = new Lines(output)) {
      for (String line = lines.next(); line != null; line = lines.next()) {
        if (!line.isBlank() && !line.startsWith("#") && !line.startsWith("\"StartTimestamp\"")) {
          String own = line.startsWith("Tag=") ? line.substring(0, line.indexOf(',') + 1) : "";
          if (tag != null && !tag.equals(own)) {
            throw new UnreadableOutput(
                lines.where()
                    + ": the log has intervals of several tags; let the command write only those of"
                    + " its good calls");
          }
          tag = own;
          Interval interval = interval(lines.where(), line);
          all.add(interval.values());
          from = Math.min(from, interval.begin());
          to = Math.max(to, interval.begin() + interval.seconds());
        }
      }
    }
    if (all.getTotalCount() == 0 || !(to > from) || Double.isInfinite(to - from)) {
      throw new UnreadableOutput("it has no value");
    } else if (all.getMaxValue() == 0) {
      throw new UnreadableOutput("all its values are 0; record nanoseconds");
    } else if (all.getMaxValue() < CallFile.SHORTEST) {
      throw new UnreadableOutput(
          "its largest value is %d, shorter than any call over a network; values must be"
                  .formatted(all.getMaxValue())
              + " nanoseconds");
    } else if (to - from > calls.nanos() / 1e9 + 1) {
      throw new UnreadableOutput(
          "its intervals cover %.1f s, but the command ran for %.1f s"
              .formatted(to - from, calls.nanos() / 1e9));
    } else if (all.getMaxValue() > calls.nanos() + TimeUnit.SECONDS.toNanos(1)) {
      throw new UnreadableOutput(
          "its largest value is %d, and the command ran for %d ns; values must be nanoseconds"
              .formatted(all.getMaxValue(), calls.nanos()));
    }
    return new Summary(
        all.getTotalCount(),
        all.getMean() / NANOS_A_MILLI,
        all.getValueAtPercentile(50) / NANOS_A_MILLI,
        all.getValueAtPercentile(99) / NANOS_A_MILLI,
        all.getMaxValue() / NANOS_A_MILLI,
        all.getTotalCount() / (to - from));
  }

  private static Interval interval(String where, String line) throws UnreadableOutput {
    String[] columns = line.replaceFirst("^Tag=[^,]*,", "").split(",");
    if (columns.length != COLUMNS) {
      throw new UnreadableOutput(where + " is no interval of a HdrHistogram log");
    }
    try {
      byte[] packed = Base64.getDecoder().decode(columns[3].strip());
      Histogram values = Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(packed), 0);
      double longest = Double.parseDouble(columns[2]);
      double unit = values.getMaxValue() / longest / NANOS_A_MILLI;
      if (longest >= SHORTEST_MILLIS && Math.abs(unit - 1) > RATIO_SHARE) {
        throw new UnreadableOutput(
            "%s: the largest value is %d, and Interval_Max is %s; values must be nanoseconds, and"
                    .formatted(where, values.getMaxValue(), columns[2])
                + " Interval_Max milliseconds (let the log writer divide it by 1000000)");
      }
      return new Interval(Double.parseDouble(columns[0]), Double.parseDouble(columns[1]), values);
    } catch (RuntimeException | DataFormatException e) { // HdrHistogram throws many kinds
      throw new UnreadableOutput("%s has no histogram (%s)".formatted(where, e));
    }
  }
}
