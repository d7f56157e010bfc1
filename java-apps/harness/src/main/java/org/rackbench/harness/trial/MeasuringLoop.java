package org.rackbench.harness.trial;

import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Phaser;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;

/**
 * The closed loop: every client thread sends its next request when its last one has returned. All
 * threads finish their warm-up calls before any of them starts to measure. The i-th call of a
 * thread has the seq {@code i * threads + thread}.
 */
final class MeasuringLoop {

  /**
   * The number of the phase that ends when all threads are warm; phase 0 ends when all callers are
   * made.
   */
  private static final int WARM = 1;

  private static final int TRACES = 3;

  private final Client client;
  private final CallLog log;
  private final int threads;
  private final int warmup;
  private final int calls;
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private final Phaser phases;
  private final CountDownLatch calling;
  private volatile boolean isOver;

  /**
   * @param warmup warm-up calls of each thread
   * @param calls measured calls of each thread
   * @param measuring run once, when all threads have ended their warm-up
   */
  MeasuringLoop(
      Client client, CallLog log, int threads, int warmup, int calls, Runnable measuring) {
    this.client = client;
    this.log = log;
    this.threads = threads;
    this.warmup = warmup;
    this.calls = calls;
    this.calling = new CountDownLatch(threads);
    this.phases =
        new Phaser(threads) {
          @Override
          protected boolean onAdvance(int phase, int registered) {
            if (phase == WARM) {
              measuring.run();
            }
            return registered == 0;
          }
        };
  }

  /**
   * Runs all calls, or those for which there is time. Returns whether it ran all: when the time is
   * over, no call begins, and what is still under way a little later is cut off. Throws the
   * exception that kept a caller from being made.
   *
   * @param nanos time for the calls, in nanoseconds
   * @param graceNanos time for what is then under way to end by itself, in nanoseconds
   */
  boolean run(long nanos, long graceNanos) throws Exception {
    final long end = System.nanoTime() + nanos;
    List<Thread> clients = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      int thread = i;
      clients.add(new Thread(() -> client(thread), "client-" + thread));
    }
    clients.forEach(Thread::start);
    final boolean ranAll = calling.await(nanos, TimeUnit.NANOSECONDS);
    isOver = true;
    phases.forceTermination();
    for (Thread client : clients) {
      TimeUnit.NANOSECONDS.timedJoin(client, end + graceNanos - System.nanoTime());
    }
    log.cutOff(System.nanoTime());
    if (failure.get() instanceof Exception e) {
      throw e;
    } else if (failure.get() != null) {
      throw new IllegalStateException(failure.get());
    }
    return ranAll;
  }

  private void client(int thread) {
    Caller caller = null;
    try {
      caller = client.caller(thread);
      phases.arriveAndAwaitAdvance();
      if (failure.get() == null) {
        calls(caller, thread, 0, warmup);
        phases.arriveAndAwaitAdvance();
        calls(caller, thread, warmup, warmup + calls);
        phases.arriveAndAwaitAdvance();
      }
    } catch (Throwable e) {
      exitOnMemory(e);
      failure.compareAndSet(null, e);
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

  private void calls(Caller caller, int thread, int from, int to) {
    for (int i = from; i < to && !isOver; i++) {
      call(caller, i * threads + thread);
    }
  }

  private void call(Caller caller, int seq) {
    long before = System.nanoTime();
    log.begin(seq, before);
    boolean returned = false;
    try {
      caller.prepare(seq);
      before = System.nanoTime();
      caller.call();
      log.time(seq, before, System.nanoTime());
      returned = true;
      log.answer(seq, caller.verify());
    } catch (Throwable e) {
      if (!returned) {
        log.time(seq, before, System.nanoTime());
      }
      exitOnMemory(e);
      if (log.errors().size() < TRACES) {
        e.printStackTrace(); // into the trial's log, for whoever looks for the cause
      }
      log.bad(seq, isTimeout(e) ? CallLog.Status.TIMEOUT : CallLog.Status.ERROR, ErrorText.of(e));
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
