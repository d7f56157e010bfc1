package org.rackbench.harness.trial;

import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.IntStream;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Part;
import org.rackbench.harness.api.Parts;

/**
 * The calls of a trial, in arrays that are allocated before timing. Each call has a slot. There is
 * room for the longest warm-up, for the last {@link #LEADS_KEPT} lead calls of each thread, for the
 * measured calls, and for as many cooldown calls as measured ones. A single thread, which waits for
 * no other, has room for only as many cooldown calls as lead calls (see {@link Stride}). Further
 * cooldown calls share one slot for each thread, which is not written to the file. Each thread
 * writes slots of its own, the status of a call last; a call without a status has no row. The
 * arrays are read after all threads have ended, or after {@link #cutOff}.
 *
 * <p>The rows of calls.csv are numbered without gaps, in the order of the slots; lead calls are in
 * the order of their start.
 */
public final class CallLog {

  /** Header line of calls.csv, schema 1 (METHOD.md, "The log"). */
  public static final String HEADER =
      "seq,thread,phase,intended_ns,start_ns,elapsed_ns,request_bytes,response_bytes,status\n";

  /** Header line of parts.csv. */
  static final String PARTS_HEADER = "seq,serialise_ns,send_ns,wait_ns,parse_ns\n";

  private static final Part[] PARTS = {Part.SERIALISE, Part.SEND, Part.WAIT, Part.PARSE};

  /** Number of lead calls that are kept of each thread, the last ones. */
  static final int LEADS_KEPT = 64;

  private static final int ERROR_TEXTS = 100;

  enum Status {
    OK,
    ERROR,
    WRONG,
    TIMEOUT;

    final String word = name().toLowerCase(Locale.ROOT);
  }

  private record BadCall(int slot, String text) {}

  private final int threads;
  private final int calls;
  private final int cooldowns;
  private final int leadFrom;
  private final int measureFrom;
  private final int cooldownFrom;
  private final int keptTo;
  private final int[] thread;
  private final long[] intended;
  private final long[] start;
  private final long[] elapsed;
  private final long[] requestBytes;
  private final long[] responseBytes;
  private final long[] requestHeaderBytes;
  private final long[] responseHeaderBytes;
  private final long[] parts; // of length 0 if the study omits them
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
    this.calls = calls;
    this.cooldowns = threads == 1 ? Math.min(calls, LEADS_KEPT) : calls;
    this.leadFrom = Math.multiplyExact(threads, warmup.most());
    this.measureFrom = Math.addExact(leadFrom, Math.multiplyExact(threads, LEADS_KEPT));
    this.cooldownFrom = Math.addExact(measureFrom, Math.multiplyExact(threads, calls));
    this.keptTo = Math.addExact(cooldownFrom, threads * cooldowns);
    int slots = Math.addExact(keptTo, threads);
    this.thread = new int[slots];
    this.intended = new long[slots];
    Arrays.fill(intended, Arrivals.UNPLANNED);
    this.start = new long[slots];
    this.elapsed = new long[slots];
    this.requestBytes = new long[slots];
    this.responseBytes = new long[slots];
    this.requestHeaderBytes = new long[slots];
    this.responseHeaderBytes = new long[slots];
    int rows = hasParts ? threads * (calls + 1) : 0; // the last row of each thread is not written
    this.parts = new long[Math.multiplyExact(PARTS.length, rows)];
    Arrays.fill(parts, Parts.UNKNOWN);
    this.status = new AtomicReferenceArray<>(slots);
    this.underWay = new AtomicIntegerArray(threads);
  }

  /** Returns the slot of a thread's i-th warm-up call. */
  int warmup(int of, long i) {
    return (int) i * threads + of;
  }

  /**
   * Returns the slot of a thread's i-th lead call; it is reused after {@link #LEADS_KEPT} of them.
   */
  int lead(int of, long i) {
    return leadFrom + (int) (i % LEADS_KEPT) * threads + of;
  }

  /** Returns the slot of a thread's i-th measured call. */
  int measured(int of, long i) {
    return measureFrom + (int) i * threads + of;
  }

  /** Returns the slot of the i-th counted call of an open loop, whichever thread makes it. */
  int arrived(int i) {
    return measureFrom + i;
  }

  /** Returns the slot of a thread's i-th cooldown call. */
  int cooldown(int of, long i) {
    return i < cooldowns ? cooldownFrom + (int) i * threads + of : keptTo + of;
  }

  /**
   * Returns whether the text of a bad call is kept. Texts of lead and cooldown calls are not,
   * because they could displace the text of a call that counts.
   */
  boolean keepsText(int slot) {
    return slot < leadFrom || isMeasured(slot);
  }

  private boolean isMeasured(int slot) {
    return measureFrom <= slot && slot < cooldownFrom;
  }

  /**
   * Records that a thread is about to make a call, before the call's input is made.
   *
   * @param now {@code System.nanoTime()}
   */
  void begin(int slot, int of, long now) {
    status.lazySet(slot, null);
    thread[slot] = of;
    intended[slot] = Arrivals.UNPLANNED;
    start[slot] = now;
    underWay.lazySet(of, slot + 1);
  }

  /** Records the due time of a call of an open loop, in advance. */
  void planned(int slot, long due) {
    intended[slot] = due;
    start[slot] = due;
  }

  /** Records that a thread does not make its announced call. */
  void leave(int of) {
    underWay.lazySet(of, 0);
  }

  /**
   * Makes each open call a {@code timeout}; its later end no longer changes that.
   *
   * @param now {@code System.nanoTime()}
   */
  void cutOff(long now) {
    for (int of = 0; of < threads; of++) {
      int slot = underWay.get(of) - 1;
      if (slot >= 0 && status.get(slot) == null) {
        elapsed[slot] = now - start[slot];
        bad(slot, Status.TIMEOUT, "still open when the trial had nearly reached its bound");
      }
    }
  }

  /**
   * Stores the times of a call; nothing else is stored while the clock runs.
   *
   * @param before {@code System.nanoTime()} before the call
   * @param after {@code System.nanoTime()} after it
   */
  void time(int slot, long before, long after) {
    start[slot] = before;
    elapsed[slot] = after - before;
  }

  /**
   * Stores the parts of a call. The parts of a call that is not measured are overwritten later.
   *
   * @param of null if the client marks none
   */
  void parts(int slot, Parts of) {
    if (of != null && parts.length > 0) {
      int row = isMeasured(slot) ? slot - measureFrom : threads * calls + thread[slot];
      for (int i = 0; i < PARTS.length; i++) {
        parts[row * PARTS.length + i] = of.nanos(PARTS[i]);
      }
    }
  }

  void answer(int slot, Answer answer) {
    requestBytes[slot] = answer.requestBytes();
    responseBytes[slot] = answer.responseBytes();
    requestHeaderBytes[slot] = answer.requestHeaderBytes();
    responseHeaderBytes[slot] = answer.responseHeaderBytes();
    if (answer.problem() == null) {
      status.compareAndSet(slot, null, Status.OK);
    } else {
      bad(slot, Status.WRONG, answer.problem());
    }
  }

  void bad(int slot, Status bad, String text) {
    if (!status.compareAndSet(slot, null, bad) || !keepsText(slot)) {
      return;
    }
    synchronized (errors) {
      if (errors.size() < ERROR_TEXTS) {
        errors.add(new BadCall(slot, text));
      }
    }
  }

  /** Returns the number of bad calls of which the text is kept. */
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
        int seq = rows(0, bad.slot());
        records.add(Json.of("seq", seq, "thread", thread[bad.slot()], "text", bad.text()));
      }
    }
    return records;
  }

  /**
   * Copies the nanoseconds of the good warm-up calls of all threads into {@code into} and returns
   * their number. It copies from each thread's call {@code from} up to, but not including, its call
   * {@code to}.
   */
  int okNanos(int from, int to, long[] into) {
    int count = 0;
    for (int slot = from * threads; slot < to * threads; slot++) {
      if (status.get(slot) == Status.OK) {
        into[count++] = elapsed[slot];
      }
    }
    return count;
  }

  int measuredOk() {
    int count = 0;
    for (int slot = measureFrom; slot < cooldownFrom; slot++) {
      count += status.get(slot) == Status.OK ? 1 : 0;
    }
    return count;
  }

  /** Returns the number of uncounted calls before the measured ones that have a row. */
  int warmupRows() {
    return rows(0, measureFrom);
  }

  /** Returns the number of measured calls, good or bad, that have a row. */
  int measured() {
    return rows(measureFrom, cooldownFrom);
  }

  int cooldownRows() {
    return rows(cooldownFrom, keptTo);
  }

  private int rows(int from, int to) {
    int count = 0;
    for (int slot = from; slot < to; slot++) {
      count += status.get(slot) == null ? 0 : 1;
    }
    return count;
  }

  /** Returns the median of the nanoseconds of the measured calls, good or bad. */
  long medianNanos() {
    long[] measured = Arrays.copyOfRange(elapsed, measureFrom, cooldownFrom);
    Arrays.sort(measured);
    return measured[measured.length / 2];
  }

  /** Returns the median response time of the good measured calls in nanoseconds, or 0. */
  long medianResponseNanos() {
    long[] sorted =
        IntStream.range(measureFrom, cooldownFrom)
            .filter(slot -> status.get(slot) == Status.OK)
            .mapToLong(slot -> start[slot] + elapsed[slot] - intended[slot])
            .sorted()
            .toArray();
    return sorted.length == 0 ? 0 : sorted[sorted.length / 2];
  }

  /** Returns the nanoseconds of the longest measured call, good or bad. */
  long longestMeasuredNanos() {
    return Arrays.stream(elapsed, measureFrom, cooldownFrom).max().orElse(0);
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
    for (int slot = measureFrom; slot < cooldownFrom; slot++) {
      if (status.get(slot) == Status.OK && bytes[slot] != Answer.UNKNOWN) {
        sum += bytes[slot];
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
      for (int slot : inOrder()) {
        row.setLength(0);
        row.append(seq++).append(',').append(thread[slot]).append(',');
        row.append(phase(slot)).append(',');
        if (intended[slot] != Arrivals.UNPLANNED) {
          row.append(intended[slot] - origin);
        }
        row.append(',').append(start[slot] - origin).append(',').append(elapsed[slot]).append(',');
        row.append(requestBytes[slot]).append(',').append(responseBytes[slot]).append(',');
        row.append(status.get(slot).word).append('\n');
        out.append(row);
      }
    }
  }

  /** Returns the slots that have a row. */
  private int[] inOrder() {
    IntStream leads =
        IntStream.range(leadFrom, measureFrom)
            .boxed()
            .sorted(Comparator.comparingLong(slot -> start[slot]))
            .mapToInt(Integer::intValue);
    return IntStream.concat(
            IntStream.range(0, leadFrom),
            IntStream.concat(leads, IntStream.range(measureFrom, keptTo)))
        .filter(slot -> status.get(slot) != null)
        .toArray();
  }

  /**
   * Writes parts.csv: a row for each measured call that was ok, and a cell for each part, empty if
   * the client does not measure it separately. Writes no file if no part of any call is known.
   */
  void writeParts(Path file) throws IOException {
    int measured = Math.min(parts.length, threads * calls * PARTS.length);
    if (Arrays.stream(parts, 0, measured).allMatch(nanos -> nanos == Parts.UNKNOWN)) {
      return;
    }
    StringBuilder row = new StringBuilder();
    int seq = warmupRows();
    try (Writer out = Files.newBufferedWriter(file, StandardCharsets.US_ASCII)) {
      out.append(PARTS_HEADER);
      for (int slot = measureFrom; slot < cooldownFrom; slot++) {
        if (status.get(slot) == Status.OK) {
          row.setLength(0);
          row.append(seq);
          appendParts(row, (slot - measureFrom) * PARTS.length);
          out.append(row.append('\n'));
        }
        seq += status.get(slot) == null ? 0 : 1;
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

  private String phase(int slot) {
    if (slot < measureFrom) {
      return "warmup";
    }
    return isMeasured(slot) ? "measure" : "cooldown";
  }
}
