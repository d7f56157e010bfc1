package org.rackbench.harness.trial;

import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.rackbench.harness.api.Answer;

/**
 * The calls of a trial, in arrays that are made before timing and indexed by seq. Each thread
 * writes elements of its own, the status of a call last; a call without a status has no row. The
 * arrays are read after all threads have ended, or after {@link #cutOff}.
 */
public final class CallLog {

  /** Header line of calls.csv, schema 1 (METHOD.md, "The log"). */
  public static final String HEADER =
      "seq,thread,phase,intended_ns,start_ns,elapsed_ns,request_bytes,response_bytes,status\n";

  private static final int ERROR_TEXTS = 100;

  enum Status {
    OK,
    ERROR,
    WRONG,
    TIMEOUT;

    final String word = name().toLowerCase(Locale.ROOT);
  }

  private final int threads;
  private final int warmupRows;
  private final long[] start;
  private final long[] elapsed;
  private final long[] requestBytes;
  private final long[] responseBytes;
  private final long[] requestHeaderBytes;
  private final long[] responseHeaderBytes;
  private final AtomicReferenceArray<Status> status;
  private final AtomicIntegerArray underWay;
  private final List<Map<String, Object>> errors = new ArrayList<>();

  CallLog(int threads, int warmup, int calls) {
    int rows = Math.multiplyExact(threads, Math.addExact(warmup, calls));
    this.threads = threads;
    this.warmupRows = threads * warmup;
    this.start = new long[rows];
    this.elapsed = new long[rows];
    this.requestBytes = new long[rows];
    this.responseBytes = new long[rows];
    this.requestHeaderBytes = new long[rows];
    this.responseHeaderBytes = new long[rows];
    this.status = new AtomicReferenceArray<>(rows);
    this.underWay = new AtomicIntegerArray(threads);
  }

  /**
   * Notes which call its thread goes to make, before its input is made.
   *
   * @param now {@code System.nanoTime()}
   */
  void begin(int seq, long now) {
    start[seq] = now;
    underWay.lazySet(seq % threads, seq + 1);
  }

  /**
   * Makes each call that is still under way a {@code timeout}; what becomes of it later changes
   * that no more.
   *
   * @param now {@code System.nanoTime()}
   */
  void cutOff(long now) {
    for (int thread = 0; thread < threads; thread++) {
      int seq = underWay.get(thread) - 1;
      if (seq >= 0 && status.get(seq) == null) {
        elapsed[seq] = now - start[seq];
        bad(seq, Status.TIMEOUT, "under way when the bound of the trial came near");
      }
    }
  }

  /**
   * Stores the time of a call; nothing else is stored while the clock runs.
   *
   * @param before {@code System.nanoTime()} before the call
   * @param after {@code System.nanoTime()} after it
   */
  void time(int seq, long before, long after) {
    start[seq] = before;
    elapsed[seq] = after - before;
  }

  void answer(int seq, Answer answer) {
    requestBytes[seq] = answer.requestBytes();
    responseBytes[seq] = answer.responseBytes();
    requestHeaderBytes[seq] = answer.requestHeaderBytes();
    responseHeaderBytes[seq] = answer.responseHeaderBytes();
    if (answer.problem() == null) {
      status.compareAndSet(seq, null, Status.OK);
    } else {
      bad(seq, Status.WRONG, answer.problem());
    }
  }

  void bad(int seq, Status bad, String text) {
    if (!status.compareAndSet(seq, null, bad)) {
      return;
    }
    synchronized (errors) {
      if (errors.size() < ERROR_TEXTS) {
        Map<String, Object> error = new LinkedHashMap<>();
        error.put("seq", seq);
        error.put("thread", seq % threads);
        error.put("text", text);
        errors.add(error);
      }
    }
  }

  List<Map<String, Object>> errors() {
    return errors;
  }

  int measuredOk() {
    int count = 0;
    for (int seq = warmupRows; seq < status.length(); seq++) {
      count += status.get(seq) == Status.OK ? 1 : 0;
    }
    return count;
  }

  /** Returns how many measured calls have a row, good or bad. */
  int measured() {
    int count = 0;
    for (int seq = warmupRows; seq < status.length(); seq++) {
      count += status.get(seq) == null ? 0 : 1;
    }
    return count;
  }

  /** Returns the median of the nanoseconds of the measured calls, good or bad. */
  long medianNanos() {
    long[] measured = Arrays.copyOfRange(elapsed, warmupRows, elapsed.length);
    Arrays.sort(measured);
    return measured[measured.length / 2];
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
    for (int seq = warmupRows; seq < bytes.length; seq++) {
      if (status.get(seq) == Status.OK && bytes[seq] != Answer.UNKNOWN) {
        sum += bytes[seq];
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
    try (Writer out = Files.newBufferedWriter(file, StandardCharsets.US_ASCII)) {
      out.append(HEADER);
      for (int seq = 0; seq < status.length(); seq++) {
        if (status.get(seq) == null) {
          continue;
        }
        row.setLength(0);
        row.append(seq).append(',').append(seq % threads).append(',');
        row.append(seq < warmupRows ? "warmup" : "measure").append(",,");
        row.append(start[seq] - origin).append(',').append(elapsed[seq]).append(',');
        row.append(requestBytes[seq]).append(',').append(responseBytes[seq]).append(',');
        row.append(status.get(seq).word).append('\n');
        out.append(row);
      }
    }
  }
}
