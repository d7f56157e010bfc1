package org.rackbench.harness.trial;

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.LongStream;

/**
 * The arrivals of an open loop: one sequence for all client threads, drawn before the first call
 * from the trial's seed. A free thread claims the next arrival and waits until it is due. Those of
 * the first {@code lead_s} seconds do not count, the next ones do, and those that follow keep the
 * rate until all counted calls have ended; they repeat the gaps of the sequence.
 */
final class Arrivals {

  /** The intended time of a call that is due as soon as a thread is free. */
  static final long UNPLANNED = Long.MIN_VALUE;

  /** The limit of the sender's lateness, unless a share of the response time is longer. */
  private static final long LATE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private static final double LATE_SHARE = 0.05;

  /** Linux wakes a parked thread 50 microseconds late; so it wakes earlier and spins. */
  private static final long SPIN_NANOS = TimeUnit.MICROSECONDS.toNanos(70);

  /** A waiting thread sees within this time that the trial is over. */
  private static final long SLEEP_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  private static final long NO_THREAD_FREE = -1;

  private final long[] offsets;
  private final int lead;
  private final long[] late;
  private final AtomicLong next = new AtomicLong();
  private volatile long begun;

  /**
   * @param seed decides the gaps
   * @param counted calls that count
   */
  Arrivals(Arrival arrival, long seed, int counted) {
    final double gap = TimeUnit.SECONDS.toNanos(1) / arrival.rate();
    SplittableRandom random = new SplittableRandom(seed);
    double leadNanos = arrival.leadSeconds() * TimeUnit.SECONDS.toNanos(1);
    LongStream.Builder drawn = LongStream.builder();
    double offset = 0;
    int before = 0;
    for (int count = 0; count < counted; ) {
      drawn.add(Math.round(offset));
      if (offset >= leadNanos) {
        count++;
      } else {
        before++;
      }
      offset += arrival.isPoisson() ? -Math.log1p(-random.nextDouble()) * gap : gap;
    }
    drawn.add(Math.round(offset)); // where the sequence restarts
    this.offsets = drawn.build().toArray();
    this.lead = before;
    this.late = new long[counted];
  }

  /** Begins the sequence: the first arrival is due now. */
  void begin(long now) {
    begun = now;
  }

  /** Returns when the first counted call is due, as of {@code System.nanoTime()}. */
  long countedFrom() {
    return due(lead);
  }

  /** Returns the next arrival of the sequence, which from now on is the thread's. */
  long claim() {
    return next.getAndIncrement();
  }

  /** Returns which of the counted calls the arrival is: below 0 before them, then from 0. */
  long counted(long arrival) {
    return arrival - lead;
  }

  /** Returns whether the arrival counts. */
  boolean isCounted(long arrival) {
    return counted(arrival) >= 0 && counted(arrival) < late.length;
  }

  /** Returns when the arrival is due, as of {@code System.nanoTime()}. */
  long due(long arrival) {
    int length = offsets.length - 1;
    long round = arrival / length;
    return begun + round * offsets[length] + offsets[(int) (arrival % length)];
  }

  /** Waits until {@code due} and returns true, or false once the trial is over. */
  boolean await(long due, BooleanSupplier isOver) {
    for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
      if (isOver.getAsBoolean()) {
        return false;
      }
      if (left > SPIN_NANOS) {
        LockSupport.parkNanos(Math.min(left - SPIN_NANOS, SLEEP_NANOS));
      } else {
        Thread.onSpinWait();
      }
    }
    return !isOver.getAsBoolean();
  }

  /**
   * Notes when a counted call was begun.
   *
   * @param free when a thread had claimed it
   * @param begun when it was sent
   */
  void begun(long arrival, long free, long begun) {
    long due = due(arrival);
    late[(int) counted(arrival)] = free > due ? NO_THREAD_FREE : begun - due;
  }

  /** Returns how many counted calls found a thread that was free when they were due. */
  int foundFree() {
    return (int) Arrays.stream(late).filter(nanos -> nanos != NO_THREAD_FREE).count();
  }

  /** Returns the nanoseconds by which free threads began late: the 99th percentile of them. */
  long lateNanos() {
    long[] sorted = Arrays.stream(late).filter(nanos -> nanos != NO_THREAD_FREE).sorted().toArray();
    return sorted.length == 0 ? 0 : sorted[(int) Math.ceil(0.99 * sorted.length) - 1];
  }

  /**
   * Returns the nanoseconds by which free threads may begin late.
   *
   * @param responseNanos median of the response times
   */
  static long allowedNanos(long responseNanos) {
    return Math.max(LATE_NANOS, Math.round(LATE_SHARE * responseNanos));
  }
}
