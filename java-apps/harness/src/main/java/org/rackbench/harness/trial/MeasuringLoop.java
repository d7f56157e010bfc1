package org.rackbench.harness.trial;

import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Phaser;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;

/**
 * The closed loop: every client thread sends its next request when its last one has returned. All
 * threads finish their warm-up calls before any of them starts to measure, and a thread that has
 * made its measured calls goes on calling until all have (cooldown), so that the last measured call
 * meets the same load as the first.
 *
 * <p>The i-th call of a thread has the number {@code i * threads + thread}. The first measured call
 * is the one after {@code warmup.most()}, however many calls the warm-up took: trials of a block
 * send the same data in the same measured call.
 */
final class MeasuringLoop {

  /**
   * The number of the phase that ends when all threads are warm; phase 0 ends when all callers are
   * made.
   */
  private static final int WARM = 1;

  private static final int TRACES = 3;

  /**
   * When all have measured, a cooldown call may go on for so many times the longest measured call,
   * and at least for so many seconds. One that takes longer is taken for lost: it does not count,
   * and nobody waits for its limit.
   */
  private static final int PATIENCE = 3;

  private static final long LEAST_PATIENCE_S = 5;

  private final Client client;
  private final CallLog log;
  private final int threads;
  private final int from;
  private final int to;
  private final Measured measured;
  private final WarmupPhase warmup;
  private final AtomicInteger measuring;
  private final AtomicLong cooldownCalls = new AtomicLong();
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private final Phaser phases;
  private final CountDownLatch measuredOrFailed = new CountDownLatch(1);
  private final CountDownLatch calling;
  private volatile boolean isOver;
  private Bounds bounds;

  /**
   * @param warmup of each thread
   * @param calls measured calls of each thread
   */
  MeasuringLoop(
      Client client, CallLog log, int threads, Warmup warmup, int calls, Measured measured) {
    this.client = client;
    this.log = log;
    this.threads = threads;
    this.from = warmup.most();
    this.to = from + calls;
    this.measured = measured;
    this.warmup = new WarmupPhase(warmup, log, threads);
    this.measuring = new AtomicInteger(threads);
    this.calling = new CountDownLatch(threads);
    this.phases =
        new Phaser(threads) {
          @Override
          protected boolean onAdvance(int phase, int registered) {
            if (phase == WARM) {
              measured.begins();
            }
            return registered == 0;
          }
        };
  }

  /**
   * Runs all calls, or those for which there is time. Returns whether it made all measured calls:
   * when the time is over, no call begins, and what is still under way a little later is cut off.
   * Throws the exception that kept a caller from being made.
   */
  boolean run(Bounds given) throws Exception {
    bounds = given;
    final long end = System.nanoTime() + given.loopNanos();
    List<Thread> clients = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      int thread = i;
      clients.add(new Thread(() -> client(thread), "client-" + thread));
    }
    clients.forEach(Thread::start);
    measuredOrFailed.await(given.loopNanos(), TimeUnit.NANOSECONDS);
    long left = end - System.nanoTime();
    boolean isCalm = calling.await(Math.min(left, patienceNanos()), TimeUnit.NANOSECONDS);
    long last = given.graceNanos() + (isCalm ? end : System.nanoTime());
    isOver = true;
    phases.forceTermination();
    for (Thread client : clients) {
      TimeUnit.NANOSECONDS.timedJoin(client, last - System.nanoTime());
    }
    log.cutOff(System.nanoTime());
    if (failure.get() instanceof Exception e) {
      throw e;
    } else if (failure.get() != null) {
      throw new IllegalStateException(failure.get());
    }
    return measuring.get() == 0;
  }

  private long patienceNanos() {
    return measuring.get() > 0
        ? Long.MAX_VALUE
        : Math.max(
            TimeUnit.SECONDS.toNanos(LEAST_PATIENCE_S), PATIENCE * log.longestMeasuredNanos());
  }

  private void client(int thread) {
    Caller caller = null;
    try {
      caller = client.caller(thread);
      phases.arriveAndAwaitAdvance();
      if (failure.get() == null) {
        warmUp(caller, thread);
        phases.arriveAndAwaitAdvance();
        measure(caller, thread);
        coolDown(caller, thread);
        phases.arriveAndAwaitAdvance();
      }
    } catch (Throwable e) {
      exitOnMemory(e);
      failure.compareAndSet(null, e);
      measuredOrFailed.countDown();
    } finally {
      phases.arriveAndDeregister();
      calling.countDown();
      close(caller);
    }
  }

  /**
   * Closes a client or caller after its calls; an exception is only printed, because the calls
   * count.
   */
  static void close(AutoCloseable done) {
    try {
      if (done != null) {
        done.close();
      }
    } catch (Exception e) {
      System.err.println("closing: " + ErrorText.of(e));
    }
  }

  private void warmUp(Caller caller, int thread) {
    for (int i = 0; warmup.goesOn(i) && !isOver; ) {
      call(caller, (long) i * threads + thread);
      warmup.made(++i);
    }
  }

  private void measure(Caller caller, int thread) {
    int i = from;
    for (; i < to && !isOver; i++) {
      call(caller, (long) i * threads + thread);
    }
    if (i == to && measuring.decrementAndGet() == 0) {
      measured.ends();
      measuredOrFailed.countDown();
    }
  }

  private void coolDown(Caller caller, int thread) {
    for (int i = to; measuring.get() > 0 && !isOver && failure.get() == null; i++) {
      call(caller, (long) i * threads + thread);
      cooldownCalls.incrementAndGet();
    }
  }

  /** Returns whether the warm-up became steady; null where it was of a fixed number of calls. */
  Boolean isSteady() {
    return warmup.isSteady();
  }

  /** Returns how many cooldown calls all threads made together, logged or not. */
  long cooldownCalls() {
    return cooldownCalls.get();
  }

  private void call(Caller caller, long seq) {
    long before = System.nanoTime();
    log.begin(seq, before);
    long after = before;
    boolean returned = false;
    try {
      caller.prepare(seq);
      before = System.nanoTime();
      caller.call();
      after = System.nanoTime();
      log.time(seq, before, after);
      returned = true;
      if (after - before > bounds.callNanos()) {
        log.bad(seq, CallLog.Status.TIMEOUT, "answered, but later than its limit");
      } else {
        Answer answer = caller.verify();
        log.parts(seq, caller.parts());
        log.answer(seq, answer);
      }
    } catch (Throwable e) {
      if (!returned) {
        after = System.nanoTime();
        log.time(seq, before, after);
      }
      exitOnMemory(e);
      if (log.isBeforeCooldown(seq) && log.errorTexts() < TRACES) {
        e.printStackTrace(); // into the trial's log, for whoever looks for the cause
      }
      boolean isLate = after - before > bounds.callNanos() || isTimeout(e);
      log.bad(seq, isLate ? CallLog.Status.TIMEOUT : CallLog.Status.ERROR, ErrorText.of(e));
    }
  }

  /**
   * Ends the JVM if {@code e} is lack of memory, which is an outcome of the trial: no call after it
   * can be trusted.
   */
  static void exitOnMemory(Throwable e) {
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof OutOfMemoryError) {
        Runtime.getRuntime().halt(Trial.EXIT_MEMORY);
      }
    }
  }

  private static boolean isTimeout(Throwable e) {
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof TimeoutException || cause instanceof SocketTimeoutException) {
        return true;
      }
    }
    return false;
  }
}
