package org.rackbench.harness.trial;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.function.LongSupplier;

/**
 * The warm-up of all threads of a trial. The thread that is the last to reach an interim analysis
 * (see {@link SteadyRule}) decides for all of them, over the calls of all threads, while the others
 * go on calling. This happens between calls and in preallocated arrays.
 */
final class WarmupPhase {

  private static final int[] NEVER = {};

  private final Warmup warmup;
  private final CallLog log;
  private final int threads;
  private final int[] looks;
  private final AtomicIntegerArray arrived;
  private final long[] older;
  private final long[] newer;
  private final LongSupplier nanoTime;
  private final LongSupplier compilerMillis;
  private long begun;
  private long lookedAt;
  private long compiled;
  private volatile boolean isSteady;

  WarmupPhase(Warmup warmup, CallLog log, int threads) {
    this(warmup, log, threads, System::nanoTime, JvmCounters::compilerMillis);
  }

  /**
   * @param nanoTime nanoseconds of a monotonic clock
   * @param compilerMillis milliseconds of the compiler's work since the start of the JVM
   */
  WarmupPhase(
      Warmup warmup, CallLog log, int threads, LongSupplier nanoTime, LongSupplier compilerMillis) {
    this.nanoTime = nanoTime;
    this.compilerMillis = compilerMillis;
    this.warmup = warmup;
    this.log = log;
    this.threads = threads;
    boolean isAdaptive = warmup.isAdaptive();
    this.looks = isAdaptive ? SteadyRule.looks(warmup.least(), warmup.most()) : NEVER;
    this.arrived = new AtomicIntegerArray(looks.length);
    int third = isAdaptive ? threads * (warmup.most() / 3 + 1) : 0;
    this.older = new long[third];
    this.newer = new long[third];
  }

  /** Begins the warm-up, before any thread calls. */
  void begins() {
    begun = nanoTime.getAsLong();
  }

  /** Returns whether a thread that has made {@code made} calls makes another one. */
  boolean goesOn(int made) {
    return made < warmup.most() && !isSteady;
  }

  /** Reports that a thread has made its first {@code made} calls. */
  void made(int made) {
    int look = Arrays.binarySearch(looks, made);
    if (look >= 0 && arrived.incrementAndGet(look) == threads && !isSteady) {
      isSteady = mayBeSteady() && isLevel(made);
    }
  }

  /**
   * Returns whether the least time has passed and the compiler is done, estimated over the time
   * since the last interim analysis.
   */
  private boolean mayBeSteady() {
    final long now = nanoTime.getAsLong();
    final long since = lookedAt == 0 ? begun : lookedAt;
    final long before = compiled;
    lookedAt = now;
    compiled = compilerMillis.getAsLong();
    return (now - begun) / 1e9 >= warmup.leastSeconds()
        && (compiled - before) * 1e6 < warmup.steady() * (now - since);
  }

  private boolean isLevel(int made) {
    int first = made / 3;
    int second = made - (made - first) / 2;
    int olderCount = log.okNanos(first, second, older);
    int newerCount = log.okNanos(second, made, newer);
    return SteadyRule.isSteady(older, olderCount, newer, newerCount, warmup.steady());
  }

  /** Returns whether the calls became steady; null if their number is fixed. */
  Boolean isSteady() {
    return warmup.isAdaptive() ? isSteady : null;
  }
}
