package org.rackbench.harness.trial;

import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.ToLongFunction;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;

/**
 * Runs the client threads of a trial. Each makes the calls of its {@link Stride}, in an open loop
 * when they are due, and times and checks them. The thread that runs the loop notifies the
 * observers while the client threads go on calling.
 */
final class MeasuringLoop {

  private static final int TRACES = 3;

  /**
   * When all threads have measured, a cooldown call may continue for this multiple of the longest
   * measured call, and at least for this many seconds. A longer call counts as lost: it has no
   * effect on the results, and nobody waits for its limit.
   */
  private static final int PATIENCE = 3;

  private static final long LEAST_PATIENCE_S = 5;

  /** Time before the first counted call of an open loop at which the observers are notified. */
  private static final long OBSERVING_NANOS =
      Math.round(Arrival.LEAST_LEAD_S * TimeUnit.SECONDS.toNanos(1));

  private final Client client;
  private final CallLog log;
  private final Arrivals arrivals; // null in a closed loop
  private final List<? extends Observer> observers;
  private final boolean isWarmedUp;
  private final WarmupPhase warming;
  private final Phases phases;
  private final List<Stride> strides = new ArrayList<>();
  private final CountDownLatch calling;
  private Bounds bounds;

  /** A closed loop. */
  MeasuringLoop(
      Client client,
      CallLog log,
      int threads,
      Warmup warmup,
      int calls,
      List<? extends Observer> observers) {
    this(client, log, null, threads, warmup, calls, observers);
  }

  /**
   * @param arrivals null in a closed loop
   * @param warmup of each thread
   * @param calls measured calls of each thread; in an open loop, on average
   * @param observers in the order of notification before the phase; afterwards it is the reverse
   */
  MeasuringLoop(
      Client client,
      CallLog log,
      Arrivals arrivals,
      int threads,
      Warmup warmup,
      int calls,
      List<? extends Observer> observers) {
    this.client = client;
    this.log = log;
    this.arrivals = arrivals;
    this.observers = observers;
    this.isWarmedUp = warmup.most() > 0;
    this.warming = new WarmupPhase(warmup, log, threads);
    this.phases = new Phases(threads, arrivals == null ? threads : threads * calls);
    this.calling = new CountDownLatch(threads);
    for (int thread = 0; thread < threads; thread++) {
      strides.add(new Stride(thread, threads, calls, warmup, warming, phases, log, arrivals));
    }
  }

  /**
   * Runs all calls, or those for which there is time. Returns whether it made all measured calls.
   * When the time is over, no call begins, and calls that are still open a little later are cut
   * off. Throws the exception that prevented the creation of a caller.
   */
  boolean run(Bounds given) throws Exception {
    bounds = given;
    final long end = System.nanoTime() + given.loopNanos();
    List<Thread> clients = new ArrayList<>();
    for (int i = 0; i < strides.size(); i++) {
      int thread = i;
      clients.add(new Thread(() -> client(thread), "client-" + thread));
    }
    clients.forEach(Thread::start);
    boolean isWhole;
    try {
      isWhole = measure(end);
    } finally {
      phases.end();
    }
    long patience = isWhole ? patienceNanos() : 0;
    boolean isCalm =
        calling.await(Math.min(end - System.nanoTime(), patience), TimeUnit.NANOSECONDS);
    long last = given.graceNanos() + (isCalm ? end : System.nanoTime());
    for (Thread client : clients) {
      TimeUnit.NANOSECONDS.timedJoin(client, last - System.nanoTime());
    }
    log.cutOff(System.nanoTime());
    if (phases.failure() instanceof Exception e) {
      throw e;
    } else if (phases.failure() != null) {
      throw new IllegalStateException(phases.failure());
    }
    return isWhole;
  }

  /**
   * Begins the measured phase once all threads are warm, and returns whether it was completed.
   * Without a warm-up it begins with the first call of each thread.
   */
  private boolean measure(long end) throws InterruptedException {
    if (!phases.awaitCallers(end - System.nanoTime())) {
      return false;
    }
    if (isWarmedUp) {
      warming.begins();
      phases.begin();
      if (!phases.awaitWarm(end - System.nanoTime())) {
        return false;
      }
    }
    if (arrivals == null) {
      observers.forEach(Observer::before);
    }
    goOn();
    if (arrivals != null) {
      // Due times are fixed, so observers must begin in time. The bound may come before that.
      long now = System.nanoTime();
      long lead = arrivals.countedFrom() - OBSERVING_NANOS - now;
      if (!phases.awaitLead(Math.min(lead, end - now)) || lead >= end - now) {
        return false;
      }
      observers.forEach(Observer::before);
    }
    if (!phases.awaitMeasured(end - System.nanoTime())) {
      return false;
    }
    for (int i = observers.size() - 1; i >= 0; i--) {
      observers.get(i).after();
    }
    return true;
  }

  /** Begins the measured phase; in an open loop, the calls at its rate. */
  private void goOn() {
    if (arrivals != null) {
      arrivals.begin(System.nanoTime());
    }
    phases.measure();
    phases.begin();
  }

  private long patienceNanos() {
    return Math.max(
        TimeUnit.SECONDS.toNanos(LEAST_PATIENCE_S), PATIENCE * log.longestMeasuredNanos());
  }

  private void client(int thread) {
    Caller caller = null;
    try {
      caller = client.caller(thread);
      phases.callerMade();
      Stride stride = strides.get(thread);
      while (stride.next()) {
        call(caller, stride, thread);
      }
    } catch (Throwable e) {
      exitOnMemory(e);
      phases.fail(e);
    } finally {
      calling.countDown();
      close(caller);
    }
  }

  /**
   * Closes a client or caller after its calls. An exception is only printed, because the calls
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

  /** Returns whether the warm-up became steady; null if it had a fixed number of calls. */
  Boolean isSteady() {
    return warming.isSteady();
  }

  /** Returns the number of calls in the warm-up of all threads. */
  long warmupCalls() {
    return sum(Stride::warmupCalls);
  }

  /** Returns the number of uncounted calls that warm threads made before the measured phase. */
  long leadCalls() {
    return sum(Stride::leadCalls);
  }

  /** Returns the number of cooldown calls of all threads, logged or not. */
  long cooldownCalls() {
    return sum(Stride::cooldownCalls);
  }

  private long sum(ToLongFunction<Stride> calls) {
    return strides.stream().mapToLong(calls).sum();
  }

  private void call(Caller caller, Stride stride, int thread) {
    final int slot = stride.slot();
    long before = System.nanoTime();
    log.begin(slot, thread, before);
    long after = before;
    boolean isPrepared = false;
    boolean returned = false;
    try {
      caller.prepare(stride.number());
      isPrepared = true;
      if (!stride.awaitDue()) {
        return;
      }
      before = System.nanoTime();
      caller.call();
      after = System.nanoTime();
      log.time(slot, before, after);
      returned = true;
      stride.begun(before);
      if (after - before > bounds.callNanos()) {
        log.bad(slot, CallLog.Status.TIMEOUT, "answered, but later than its limit");
      } else {
        Answer answer = caller.verify();
        log.parts(slot, caller.parts());
        log.answer(slot, answer);
      }
    } catch (Throwable e) {
      exitOnMemory(e);
      if (!isPrepared) {
        // It keeps its place in the schedule, so failures do not use up the arrivals at once.
        if (!stride.awaitDue()) {
          return;
        }
        before = Math.max(before, stride.due());
      }
      if (!returned) {
        after = System.nanoTime();
        log.time(slot, before, after);
        stride.begun(before);
      }
      if (log.keepsText(slot) && log.errorTexts() < TRACES) {
        e.printStackTrace(); // into the trial's log, to help find the cause
      }
      boolean isLate = after - before > bounds.callNanos() || isTimeout(e);
      log.bad(slot, isLate ? CallLog.Status.TIMEOUT : CallLog.Status.ERROR, ErrorText.of(e));
    }
  }

  /**
   * Ends the JVM if {@code e} is lack of memory, which is an outcome of the trial. No later call
   * could be trusted.
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
