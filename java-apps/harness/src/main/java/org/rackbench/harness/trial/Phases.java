package org.rackbench.harness.trial;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * The phases of a trial. Threads report their progress and go on calling. The trial's main thread
 * waits for them and begins the measured phase with one volatile write, so no client thread waits
 * for another once all callers are made.
 */
final class Phases {

  private enum Phase {
    UNCOUNTED,
    MEASURED,
    OVER
  }

  private final CountDownLatch made;
  private final CountDownLatch begun = new CountDownLatch(1);
  private final CountDownLatch warm;
  private final CountDownLatch measured;
  private volatile Phase now = Phase.UNCOUNTED;
  private volatile Throwable failure;

  /**
   * @param measuring number of threads that report the end of their measured calls; in an open
   *     loop, where any thread may make any of them, the number of measured calls
   */
  Phases(int threads, int measuring) {
    made = new CountDownLatch(threads);
    warm = new CountDownLatch(threads);
    measured = new CountDownLatch(measuring);
  }

  /** Reports that a thread has made its caller; returns when calls may begin. */
  void callerMade() throws InterruptedException {
    made.countDown();
    begun.await();
  }

  /** Waits until all callers are made; returns false if time runs out or one failed. */
  boolean awaitCallers(long nanos) throws InterruptedException {
    return made.await(nanos, TimeUnit.NANOSECONDS) && failure == null;
  }

  /** Lets the threads begin. */
  void begin() {
    begun.countDown();
  }

  /** Reports that a thread has ended its warm-up. */
  void warm() {
    warm.countDown();
  }

  /** Reports that a thread has made its measured calls; in an open loop, one of them. */
  void measured() {
    measured.countDown();
  }

  /** Reports that a thread cannot go on; then nobody makes a further call or waits for it. */
  synchronized void fail(Throwable cause) {
    failure = failure == null ? cause : failure;
    end();
    release(made);
    release(warm);
    release(measured);
  }

  /** Returns why a thread could not go on, or null. */
  Throwable failure() {
    return failure;
  }

  /** Returns whether a warm thread may begin to measure, or to claim arrivals. */
  boolean isMeasured() {
    return now == Phase.MEASURED;
  }

  /** Returns whether calls must no longer begin. */
  boolean isOver() {
    return now == Phase.OVER;
  }

  /** Waits until all threads are warm; returns false if time runs out or one failed. */
  boolean awaitWarm(long nanos) throws InterruptedException {
    return warm.await(nanos, TimeUnit.NANOSECONDS) && failure == null;
  }

  /** Makes each thread's next call its first measured one. */
  synchronized void measure() {
    if (now == Phase.UNCOUNTED) {
      now = Phase.MEASURED;
    }
  }

  /**
   * Waits for the nanoseconds of an open loop's lead, in which no call counts; returns false, and
   * at once, if a thread failed.
   */
  boolean awaitLead(long nanos) throws InterruptedException {
    measured.await(nanos, TimeUnit.NANOSECONDS); // a failure releases it
    return failure == null;
  }

  /** Waits until all have measured; returns false if time runs out or one failed. */
  boolean awaitMeasured(long nanos) throws InterruptedException {
    return measured.await(nanos, TimeUnit.NANOSECONDS) && failure == null;
  }

  /** Prevents calls from beginning. */
  synchronized void end() {
    now = Phase.OVER;
    begin();
  }

  private static void release(CountDownLatch latch) {
    while (latch.getCount() > 0) {
      latch.countDown();
    }
  }
}
