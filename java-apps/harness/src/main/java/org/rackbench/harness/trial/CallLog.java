package org.rackbench.harness.trial;

import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Part;
import org.rackbench.harness.api.Parts;

/**
 * The calls of a trial, in arrays that are made before timing and indexed by the number of the call
 * (see {@link MeasuringLoop}). There is room for the longest warm-up, the measured calls and, with
 * several threads, for as many cooldown calls as measured ones; further cooldown calls are not
 * kept. Each thread writes elements of its own, the status of a call last; a call without a status
 * has no row. The arrays are read after all threads have ended, or after {@link #cutOff}.
 *
 * <p>In calls.csv the rows are numbered without gaps: the seq of a call is its number less the
 * calls before it that have no row.
 */
public final class CallLog {

  /** Header line of calls.csv, schema 1 (METHOD.md, "The log"). */
  public static final String HEADER =
      "seq,thread,phase,intended_ns,start_ns,elapsed_ns,request_bytes,response_bytes,status\n";

  /** Header line of parts.csv. */
  static final String PARTS_HEADER = "seq,serialise_ns,send_ns,wait_ns,parse_ns\n";

  private static final Part[] PARTS = {Part.SERIALISE, Part.SEND, Part.WAIT, Part.PARSE};

  private static final int ERROR_TEXTS = 100;

  enum Status {
    OK,
    ERROR,
    WRONG,
    TIMEOUT;

    final String word = name().toLowerCase(Locale.ROOT);
  }

  private record BadCall(int number, String text) {}

  private final int threads;
  private final int measureFrom;
  private final int measureTo;
  private final long[] start;
  private final long[] elapsed;
  private final long[] requestBytes;
  private final long[] responseBytes;
  private final long[] requestHeaderBytes;
  private final long[] responseHeaderBytes;
  private final long[] parts; // those of each measured call; of length 0 when they are left out
  private final AtomicReferenceArray<Status> status;
  private final AtomicIntegerArray underWay;
  private final List<BadCall> errors = new ArrayList<>();

  CallLog(int threads, Warmup warmup, int calls) {
    this(threads, warmup, calls, false);
  }

  /**
   * @param hasParts whether the parts of calls are kept
   */
  CallLog(int threads, Warmup warmup, int calls, boolean hasParts) {
    this.threads = threads;
    this.measureFrom = Math.multiplyExact(threads, warmup.most());
    this.measureTo = Math.addExact(measureFrom, Math.multiplyExact(threads, calls));
    int rows = threads == 1 ? measureTo : Math.addExact(measureTo, measureTo - measureFrom);
    this.start = new long[rows];
    this.elapsed = new long[rows];
    this.requestBytes = new long[rows];
    this.responseBytes = new long[rows];
    this.requestHeaderBytes = new long[rows];
    this.responseHeaderBytes = new long[rows];
    int measured = hasParts ? measureTo - measureFrom : 0;
    this.parts = new long[Math.multiplyExact(PARTS.length, measured)];
    Arrays.fill(parts, Parts.UNKNOWN);
    this.status = new AtomicReferenceArray<>(rows);
    this.underWay = new AtomicIntegerArray(threads);
  }

  /** Returns whether a call is one of the warm-up or measured, and none of the cooldown. */
  boolean isBeforeCooldown(long number) {
    return number < measureTo;
  }

  private boolean isKept(long number) {
    return number < start.length;
  }

  /**
   * Notes which call its thread goes to make, before its input is made.
   *
   * @param now {@code System.nanoTime()}
   */
  void begin(long number, long now) {
    if (isKept(number)) {
      int call = (int) number;
      start[call] = now;
      underWay.lazySet(call % threads, call + 1);
    }
  }

  /**
   * Makes each call that is still under way a {@code timeout}; what becomes of it later changes
   * that no more.
   *
   * @param now {@code System.nanoTime()}
   */
  void cutOff(long now) {
    for (int thread = 0; thread < threads; thread++) {
      int call = underWay.get(thread) - 1;
      if (call >= 0 && status.get(call) == null) {
        elapsed[call] = now - start[call];
        bad(call, Status.TIMEOUT, "under way when the bound of the trial came near");
      }
    }
  }

  /**
   * Stores the time of a call; nothing else is stored while the clock runs.
   *
   * @param before {@code System.nanoTime()} before the call
   * @param after {@code System.nanoTime()} after it
   */
  void time(long number, long before, long after) {
    if (isKept(number)) {
      int call = (int) number;
      start[call] = before;
      elapsed[call] = after - before;
    }
  }

  /**
   * Stores the parts of a call; not of those of the warm-up or cooldown.
   *
   * @param of null when the client marks none
   */
  void parts(long number, Parts of) {
    if (of != null && parts.length > 0 && number >= measureFrom && isBeforeCooldown(number)) {
      int first = ((int) number - measureFrom) * PARTS.length;
      for (int i = 0; i < PARTS.length; i++) {
        parts[first + i] = of.nanos(PARTS[i]);
      }
    }
  }

  void answer(long number, Answer answer) {
    if (!isKept(number)) {
      return;
    }
    int call = (int) number;
    requestBytes[call] = answer.requestBytes();
    responseBytes[call] = answer.responseBytes();
    requestHeaderBytes[call] = answer.requestHeaderBytes();
    responseHeaderBytes[call] = answer.responseHeaderBytes();
    if (answer.problem() == null) {
      status.compareAndSet(call, null, Status.OK);
    } else {
      bad(number, Status.WRONG, answer.problem());
    }
  }

  /**
   * Notes a bad call. The text of a cooldown call is not kept, as it could take the place of one
   * that counts.
   */
  void bad(long number, Status bad, String text) {
    if (!isKept(number)
        || !status.compareAndSet((int) number, null, bad)
        || !isBeforeCooldown(number)) {
      return;
    }
    synchronized (errors) {
      if (errors.size() < ERROR_TEXTS) {
        errors.add(new BadCall((int) number, text));
      }
    }
  }

  /** Returns of how many bad calls the text is kept. */
  int errorTexts() {
    synchronized (errors) {
      return errors.size();
    }
  }

  /** Returns the texts of the first bad calls, each with its seq in calls.csv. */
  List<Map<String, Object>> errors() {
    List<Map<String, Object>> records = new ArrayList<>();
    synchronized (errors) {
      for (BadCall bad : errors) {
        int seq = rows(0, bad.number());
        records.add(Json.of("seq", seq, "thread", bad.number() % threads, "text", bad.text()));
      }
    }
    return records;
  }

  /**
   * Copies the nanoseconds of the calls with status ok from number {@code from} to before {@code
   * to} into {@code into}, and returns how many there are.
   */
  int okNanos(int from, int to, long[] into) {
    int count = 0;
    for (int call = from; call < to; call++) {
      if (status.get(call) == Status.OK) {
        into[count++] = elapsed[call];
      }
    }
    return count;
  }

  int measuredOk() {
    int count = 0;
    for (int call = measureFrom; call < measureTo; call++) {
      count += status.get(call) == Status.OK ? 1 : 0;
    }
    return count;
  }

  int warmupRows() {
    return rows(0, measureFrom);
  }

  /** Returns how many measured calls have a row, good or bad. */
  int measured() {
    return rows(measureFrom, measureTo);
  }

  int cooldownRows() {
    return rows(measureTo, start.length);
  }

  private int rows(int from, int to) {
    int count = 0;
    for (int call = from; call < to; call++) {
      count += status.get(call) == null ? 0 : 1;
    }
    return count;
  }

  /** Returns the median of the nanoseconds of the measured calls, good or bad. */
  long medianNanos() {
    long[] measured = Arrays.copyOfRange(elapsed, measureFrom, measureTo);
    Arrays.sort(measured);
    return measured[measured.length / 2];
  }

  /** Returns the nanoseconds of the longest measured call, good or bad. */
  long longestMeasuredNanos() {
    return Arrays.stream(elapsed, measureFrom, measureTo).max().orElse(0);
  }

  Double meanRequestHeaderBytes() {
    return meanOfMeasuredOk(requestHeaderBytes);
  }

  Double meanResponseHeaderBytes() {
    return meanOfMeasuredOk(responseHeaderBytes);
  }

  private Double meanOfMeasuredOk(long[] bytes) {
    long sum = 0;
    int count = 0;
    for (int call = measureFrom; call < measureTo; call++) {
      if (status.get(call) == Status.OK && bytes[call] != Answer.UNKNOWN) {
        sum += bytes[call];
        count++;
      }
    }
    return count == 0 ? null : (double) sum / count;
  }

  /**
   * Writes calls.csv.
   *
   * @param origin {@code System.nanoTime()} at the trial's start, from which times count
   */
  void write(Path file, long origin) throws IOException {
    StringBuilder row = new StringBuilder();
    int seq = 0;
    try (Writer out = Files.newBufferedWriter(file, StandardCharsets.US_ASCII)) {
      out.append(HEADER);
      for (int call = 0; call < start.length; call++) {
        if (status.get(call) == null) {
          continue;
        }
        row.setLength(0);
        row.append(seq++).append(',').append(call % threads).append(',');
        row.append(phase(call)).append(",,");
        row.append(start[call] - origin).append(',').append(elapsed[call]).append(',');
        row.append(requestBytes[call]).append(',').append(responseBytes[call]).append(',');
        row.append(status.get(call).word).append('\n');
        out.append(row);
      }
    }
  }

  /**
   * Writes parts.csv: a row for each measured call that was ok, a cell for each part, empty where
   * the client cannot tell it. Writes no file when no part of any call is known.
   */
  void writeParts(Path file) throws IOException {
    if (Arrays.stream(parts).allMatch(nanos -> nanos == Parts.UNKNOWN)) {
      return;
    }
    StringBuilder row = new StringBuilder();
    int seq = warmupRows();
    try (Writer out = Files.newBufferedWriter(file, StandardCharsets.US_ASCII)) {
      out.append(PARTS_HEADER);
      for (int call = measureFrom; call < measureTo; call++) {
        if (status.get(call) == Status.OK) {
          row.setLength(0);
          row.append(seq);
          appendParts(row, (call - measureFrom) * PARTS.length);
          out.append(row.append('\n'));
        }
        seq += status.get(call) == null ? 0 : 1;
      }
    }
  }

  private void appendParts(StringBuilder row, int first) {
    for (int i = first; i < first + PARTS.length; i++) {
      row.append(',');
      if (parts[i] != Parts.UNKNOWN) {
        row.append(parts[i]);
      }
    }
  }

  private String phase(int call) {
    if (call < measureFrom) {
      return "warmup";
    }
    return call < measureTo ? "measure" : "cooldown";
  }
}
