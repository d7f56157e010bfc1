package org.rackbench.harness.trial;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * The phases of a trial. Threads tell how far they are and go on calling; the trial's main thread
 * waits for them and begins the measured phase with one volatile write, so that no client thread
 * waits for another once all callers are made.
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
   * @param measuring threads that tell when they have made their measured calls; in an open loop,
   *     where any thread may make any of them, the measured calls
   */
  Phases(int threads, int measuring) {
    made = new CountDownLatch(threads);
    warm = new CountDownLatch(threads);
    measured = new CountDownLatch(measuring);
  }

  /** A thread has made its caller; returns when calls shall begin. */
  void callerMade() throws InterruptedException {
    made.countDown();
    begun.await();
  }

  /** Waits until all callers are made; returns false if they are not in time, or one failed. */
  boolean awaitCallers(long nanos) throws InterruptedException {
    return made.await(nanos, TimeUnit.NANOSECONDS) && failure == null;
  }

  /** Lets the threads begin. */
  void begin() {
    begun.countDown();
  }

  /** A thread has ended its warm-up. */
  void warm() {
    warm.countDown();
  }

  /** A thread has made its measured calls; in an open loop, one of them. */
  void measured() {
    measured.countDown();
  }

  /** A thread cannot go on: nobody makes a further call or waits for it. */
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

  /** Returns whether a thread that is warm shall begin to measure, or to claim arrivals. */
  boolean isMeasured() {
    return now == Phase.MEASURED;
  }

  /** Returns whether no call shall begin any more. */
  boolean isOver() {
    return now == Phase.OVER;
  }

  /** Waits until all threads are warm; returns false if they are not in time, or one failed. */
  boolean awaitWarm(long nanos) throws InterruptedException {
    return warm.await(nanos, TimeUnit.NANOSECONDS) && failure == null;
  }

  /** Lets each thread's next call be its first measured one. */
  synchronized void measure() {
    if (now == Phase.UNCOUNTED) {
      now = Phase.MEASURED;
    }
  }

  /** Waits until all have measured; returns false if they have not in time, or one failed. */
  boolean awaitMeasured(long nanos) throws InterruptedException {
    return measured.await(nanos, TimeUnit.NANOSECONDS) && failure == null;
  }

  /** Lets no call begin any more. */
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
