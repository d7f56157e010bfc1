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
import org.rackbench.harness.api.Answer;

/**
 * The calls of a trial, in arrays that are made before timing and indexed by seq. Each thread
 * writes elements of its own; the arrays are read after all threads have ended.
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
  private final Status[] status;
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
    this.status = new Status[rows];
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
      status[seq] = Status.OK;
    } else {
      bad(seq, Status.WRONG, answer.problem());
    }
  }

  void bad(int seq, Status bad, String text) {
    status[seq] = bad;
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
    for (int seq = warmupRows; seq < status.length; seq++) {
      count += status[seq] == Status.OK ? 1 : 0;
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
      if (status[seq] == Status.OK && bytes[seq] != Answer.UNKNOWN) {
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
      for (int seq = 0; seq < status.length; seq++) {
        row.setLength(0);
        row.append(seq).append(',').append(seq % threads).append(',');
        row.append(seq < warmupRows ? "warmup" : "measure").append(",,");
        row.append(start[seq] - origin).append(',').append(elapsed[seq]).append(',');
        row.append(requestBytes[seq]).append(',').append(responseBytes[seq]).append(',');
        row.append(status[seq].word).append('\n');
        out.append(row);
      }
    }
  }
}
