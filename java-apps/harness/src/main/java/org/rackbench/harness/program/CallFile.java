package org.rackbench.harness.program;

import java.io.Closeable;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.rackbench.harness.trial.Arrival;
import org.rackbench.harness.trial.CallLog;
import org.rackbench.harness.trial.Json;

/**
 * Writes the calls of a program to calls.csv while reading them, because a log may be larger than
 * the heap. It refuses a call outside the time of the trial, as the trial cannot have made it.
 */
final class CallFile implements Closeable {

  /**
   * Tolerance for clocks that are read one after the other, for whole milliseconds, and for a small
   * step of the clock.
   */
  private static final long TOLERANCE = TimeUnit.SECONDS.toNanos(1);

  /** Tolerance by which a call may be sent before it was due. */
  private static final long EARLY = TimeUnit.MILLISECONDS.toNanos(1);

  /** No call over a network is shorter, in nanoseconds; lower values have another unit. */
  static final long SHORTEST = 10_000;

  /** No request or response is longer, in bytes. */
  private static final long LONGEST = 1L << 40;

  /** Share of the planned rate by which the rate of an open loop may differ, beyond chance. */
  private static final double RATE_SHARE = 0.05;

  private static final double DEVIATIONS = 4;

  private static final int ERROR_TEXTS = 100;

  private final Writer out;
  private final long zero;
  private final long from;
  private final long to;
  private final Arrival arrival;
  private final List<Map<String, Object>> errors = new ArrayList<>();
  private final StringBuilder row = new StringBuilder();
  private boolean hasThreads;
  private int rows;
  private int measured;
  private int good;
  private long longestGood;
  private long firstDue = Long.MAX_VALUE;
  private long lastDue = Long.MIN_VALUE;
  private long firstStart = Long.MAX_VALUE;
  private long lastStart = Long.MIN_VALUE;

  /**
   * @param zero nanoseconds since 1970 from which the times of the log count
   * @param from nanoseconds since 1970 when the command was started
   * @param to the same when it had ended
   * @param arrival how calls were to arrive; null in a closed loop
   */
  CallFile(Path file, long zero, long from, long to, Arrival arrival) throws IOException {
    this.out = Files.newBufferedWriter(file, StandardCharsets.US_ASCII);
    this.zero = zero;
    this.from = from;
    this.to = to;
    this.arrival = arrival;
    out.append(CallLog.HEADER);
  }

  /** Returns how calls were to arrive; null in a closed loop. */
  Arrival arrival() {
    return arrival;
  }

  /** Returns the nanoseconds from the start of the command to its end. */
  long nanos() {
    return to - from;
  }

  /**
   * Adds a call.
   *
   * @param where its place in the output, with which messages begin
   */
  void add(String where, Call call) throws IOException, UnreadableOutput {
    check(where, call);
    boolean isNamed = call.thread() != Call.NONE;
    if (rows > 0 && isNamed != hasThreads) {
      throw new UnreadableOutput(
          where + ": some calls name their thread and others do not; name all of them or none");
    }
    hasThreads = isNamed;
    row.setLength(0);
    row.append(rows).append(',');
    number(call.thread()).append(call.isWarmup() ? "warmup," : "measure,");
    long start = Math.max(0, call.start() - zero); // the clock may have stepped back
    if (call.due() != Call.NONE) {
      row.append(start - Math.max(0, call.start() - call.due())); // sent early, it did not wait
    }
    row.append(',').append(start).append(',');
    row.append(call.elapsed()).append(',');
    row.append(call.requestBytes()).append(',').append(call.responseBytes()).append(',');
    out.append(row.append(call.status()).append('\n'));
    if (!call.isWarmup()) {
      count(call);
    }
    rows++;
  }

  private void count(Call call) {
    measured++;
    if (call.isOk()) {
      good++;
      longestGood = Math.max(longestGood, call.elapsed());
    }
    firstStart = Math.min(firstStart, call.start());
    lastStart = Math.max(lastStart, call.start());
    firstDue = Math.min(firstDue, call.due());
    lastDue = Math.max(lastDue, call.due());
    if (!call.isOk() && errors.size() < ERROR_TEXTS) {
      errors.add(Json.of("seq", rows, "thread", Math.max(0, call.thread()), "text", call.text()));
    }
  }

  private StringBuilder number(int thread) {
    return (thread == Call.NONE ? row : row.append(thread)).append(',');
  }

  private void check(String where, Call call) throws UnreadableOutput {
    if (call.elapsed() < 0 || call.elapsed() > nanos() + TOLERANCE) {
      throw new UnreadableOutput(
          "%s: the call took %.3f s, but the command ran for %.3f s"
              .formatted(where, call.elapsed() / 1e9, nanos() / 1e9));
    }
    if (call.start() < from - TOLERANCE || call.start() > to + TOLERANCE - call.elapsed()) {
      throw new UnreadableOutput(
          "%s: the call began %.3f s after the start of the command, which ran for %.3f s; times"
                  .formatted(where, ((double) call.start() - from) / 1e9, nanos() / 1e9)
              + " must be those of this node's clock, since 1970");
    }
    for (long size : new long[] {call.requestBytes(), call.responseBytes()}) {
      if (size < Call.NONE || size > LONGEST) {
        throw new UnreadableOutput(
            "%s: a request or response has %d bytes; write from 0 to %d"
                .formatted(where, size, LONGEST));
      }
    }
    if (arrival != null && call.due() == Call.NONE && !call.isWarmup()) {
      throw new UnreadableOutput(
          where + ": calls arrive at a rate, and the output does not say when this one was due");
    }
    if (call.due() != Call.NONE && call.due() < from - TOLERANCE) {
      throw new UnreadableOutput(
          where
              + ": the call was due before the command started; due times must be those of this"
              + " node's clock, since 1970");
    }
    if (call.due() != Call.NONE && call.due() > call.start() + EARLY) {
      throw new UnreadableOutput(where + ": the call was sent before it was due");
    }
    if (call.due() != Call.NONE && arrival == null) {
      throw new UnreadableOutput(
          where
              + ": the output says when the call was due, but the study has no arrival; add the key"
              + " arrival to the study file, or leave intended_ns out");
    }
  }

  /** Returns how many calls count. */
  int measured() {
    return measured;
  }

  /** Returns how many of them are ok. */
  int good() {
    return good;
  }

  List<Map<String, Object>> errors() {
    return errors;
  }

  /** Returns why the times of the good calls are not nanoseconds, or "". */
  String otherUnit() {
    return good == 0 || longestGood >= SHORTEST
        ? ""
        : "the longest call took %d ns, shorter than any over a network; elapsed_ns must be"
                .formatted(longestGood)
            + " nanoseconds";
  }

  /**
   * Returns why the calls of an open loop did not come at the planned rate, or "".
   *
   * @param isBySending whether the log has the times of sending and no due times
   */
  String otherRate(boolean isBySending) {
    long span = isBySending ? lastStart - firstStart : lastDue - firstDue;
    if (arrival == null || measured < 2) {
      return "";
    }
    double rate = span > 0 ? (measured - 1) * 1e9 / span : Double.POSITIVE_INFINITY;
    double chance = arrival.isPoisson() ? DEVIATIONS / Math.sqrt(measured - 1) : 0;
    if (Math.abs(rate / arrival.rate() - 1) <= RATE_SHARE + chance) {
      return "";
    }
    return String.format(
        Locale.ROOT,
        "calls came at %.4g /s on average, but the plan has %.4g /s; let the command send at the"
            + " rate of the plan, with enough connections for that rate",
        rate,
        arrival.rate());
  }

  @Override
  public void close() throws IOException {
    out.close();
  }
}
