package org.rackbench.harness.trial;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * The warm-up of all threads of a trial. The thread that is the last to reach a look (see {@link
 * SteadyRule}) decides for all of them, over the calls of all threads, while the others call on.
 * Everything happens between calls, in arrays made before.
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
  private volatile boolean isSteady;

  WarmupPhase(Warmup warmup, CallLog log, int threads) {
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

  /** Returns whether a thread that has made {@code made} calls makes another one. */
  boolean goesOn(int made) {
    return made < warmup.most() && !isSteady;
  }

  /** Tells that a thread has made its first {@code made} calls. */
  void made(int made) {
    int look = Arrays.binarySearch(looks, made);
    if (look >= 0 && arrived.incrementAndGet(look) == threads && !isSteady) {
      int first = made / 3;
      int second = made - (made - first) / 2;
      int olderCount = log.okNanos(first * threads, second * threads, older);
      int newerCount = log.okNanos(second * threads, made * threads, newer);
      isSteady = SteadyRule.isSteady(older, olderCount, newer, newerCount, warmup.steady());
    }
  }

  /** Returns whether the calls became steady; null where a fixed number was asked for. */
  Boolean isSteady() {
    return warmup.isAdaptive() ? isSteady : null;
  }
}
