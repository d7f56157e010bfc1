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
 * from the trial's seed. A free thread claims the next arrival and waits until it is due. Arrivals
 * of the first {@code lead_s} seconds do not count; the next ones do. Further arrivals repeat the
 * gaps of the sequence and keep the rate until all counted calls have ended.
 */
final class Arrivals {

  /** The intended time of a call that is due as soon as a thread is free. */
  static final long UNPLANNED = Long.MIN_VALUE;

  /** The limit of the sender's lateness, unless a share of the response time is longer. */
  private static final long LATE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private static final double LATE_SHARE = 0.05;

  /** Linux wakes a parked thread 50 microseconds late, so a thread wakes earlier and spins. */
  private static final long SPIN_NANOS = TimeUnit.MICROSECONDS.toNanos(70);

  /** A waiting thread notices the end of the trial within this time. */
  private static final long SLEEP_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  private static final long NO_THREAD_FREE = -1;

  private final long[] offsets;
  private final int lead;
  private final long[] late;
  private final AtomicLong next = new AtomicLong();
  private volatile long begun;

  /**
   * @param seed seed of the gaps
   * @param counted number of calls that count
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

  /** Begins the sequence, with the first arrival due now. */
  void begin(long now) {
    begun = now;
  }

  /** Returns the due time of the first counted call, as of {@code System.nanoTime()}. */
  long countedFrom() {
    return due(lead);
  }

  /** Returns the next arrival of the sequence, which then belongs to the calling thread. */
  long claim() {
    return next.getAndIncrement();
  }

  /** Returns the number, from 0, of the arrival among the counted calls; below 0 before them. */
  long counted(long arrival) {
    return arrival - lead;
  }

  /** Returns whether the arrival counts. */
  boolean isCounted(long arrival) {
    return counted(arrival) >= 0 && counted(arrival) < late.length;
  }

  /** Returns the due time of the arrival, as of {@code System.nanoTime()}. */
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
   * Records the beginning of a counted call.
   *
   * @param free time when a thread had claimed it
   * @param begun time when it was sent
   */
  void begun(long arrival, long free, long begun) {
    long due = due(arrival);
    late[(int) counted(arrival)] = free > due ? NO_THREAD_FREE : begun - due;
  }

  /** Returns the number of counted calls for which a thread was free when they were due. */
  int foundFree() {
    return (int) Arrays.stream(late).filter(nanos -> nanos != NO_THREAD_FREE).count();
  }

  /** Returns the 99th percentile of the nanoseconds by which free threads began late. */
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
