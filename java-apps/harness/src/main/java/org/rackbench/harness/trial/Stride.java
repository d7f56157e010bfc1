package org.rackbench.harness.trial;

/**
 * The calls of one client thread, in one stride: its warm-up, further uncounted calls until all
 * threads are warm and every observer is ready (<em>lead</em>), its measured calls, and uncounted
 * ones until all threads have measured (<em>cooldown</em>). Between any two calls the thread does
 * the same. Without a warm-up there is no lead: the first call of the JVM is measured.
 *
 * <p>The number of a call decides its data. The i-th call of the warm-up has the number {@code i *
 * threads + thread}. The first measured call has the number after {@code warmup.most()} of them,
 * even if the warm-up was shorter, so trials of a block send the same data in the same measured
 * call. Numbers of lead calls begin at {@link #LEAD}.
 *
 * <p>In an open loop a warm thread ends its lead as soon as all are warm. From then on it claims
 * one {@link Arrivals arrival} after the other; the first of these do not count either. The number
 * of a counted call follows from its place among the arrivals.
 */
final class Stride {

  /** Larger than the number of any other call. */
  private static final long LEAD = 1L << 40;

  /** Upper end of the numbers of uncounted arrivals. */
  private static final long ARRIVALS = 1L << 42;

  private enum Stage {
    WARMUP,
    LEAD,
    MEASURE,
    COOLDOWN,
    OPEN
  }

  private final int thread;
  private final int threads;
  private final int calls;
  private final Warmup warmup;
  private final WarmupPhase warming;
  private final Phases phases;
  private final CallLog log;
  private final Arrivals arrivals; // null in a closed loop
  private final long[] made = new long[Stage.values().length]; // calls by stage
  private Stage stage = Stage.WARMUP;
  private long first;
  private long number;
  private int slot;
  private long arrival;
  private long claimed;
  private boolean isCounted;

  Stride(
      int thread,
      int threads,
      int calls,
      Warmup warmup,
      WarmupPhase warming,
      Phases phases,
      CallLog log,
      Arrivals arrivals) {
    this.thread = thread;
    this.threads = threads;
    this.calls = calls;
    this.warmup = warmup;
    this.warming = warming;
    this.phases = phases;
    this.log = log;
    this.arrivals = arrivals;
  }

  /** Advances to the thread's next call and returns whether there is one. */
  boolean next() {
    if (isCounted) {
      phases.measured();
      isCounted = false;
    }
    if (phases.isOver()) {
      return false;
    }
    if (stage == Stage.WARMUP) {
      int warm = (int) made(Stage.WARMUP);
      warming.made(warm);
      if (!warming.goesOn(warm)) {
        phases.warm();
        enter(Stage.LEAD, LEAD / threads);
      }
    }
    if (stage == Stage.LEAD && phases.isMeasured()) {
      enter(arrivals == null ? Stage.MEASURE : Stage.OPEN, warmup.most());
    }
    if (stage == Stage.OPEN) {
      claim();
      return true;
    }
    if (stage == Stage.MEASURE && made(Stage.MEASURE) == calls) {
      phases.measured();
      enter(Stage.COOLDOWN, (long) warmup.most() + calls);
    }
    long i = made[stage.ordinal()]++;
    number = (first + i) * threads + thread;
    slot =
        switch (stage) {
          case WARMUP -> log.warmup(thread, i);
          case LEAD -> log.lead(thread, i);
          case MEASURE -> log.measured(thread, i);
          case COOLDOWN -> log.cooldown(thread, i);
          case OPEN -> throw new IllegalStateException("no call of a closed loop");
        };
    return true;
  }

  /** Claims the next arrival. */
  private void claim() {
    arrival = arrivals.claim();
    claimed = System.nanoTime();
    isCounted = arrivals.isCounted(arrival);
    long its = arrivals.counted(arrival);
    number = its < 0 ? ARRIVALS + its : first * threads + its;
    if (isCounted) {
      slot = log.arrived((int) its);
    } else if (its < 0) {
      slot = log.lead(thread, made[Stage.LEAD.ordinal()]++);
    } else {
      slot = log.cooldown(thread, made[Stage.COOLDOWN.ordinal()]++);
    }
  }

  /** Waits until the call is due, in an open loop; returns whether to make it. */
  boolean awaitDue() {
    if (stage != Stage.OPEN) {
      return true;
    }
    log.planned(slot, arrivals.due(arrival));
    if (arrivals.await(arrivals.due(arrival), phases::isOver)) {
      return true;
    }
    isCounted = false;
    log.leave(thread);
    return false;
  }

  /** Returns the due time of the call; {@link Arrivals#UNPLANNED} if it has none. */
  long due() {
    return stage == Stage.OPEN ? arrivals.due(arrival) : Arrivals.UNPLANNED;
  }

  /** Records when the call began. */
  void begun(long now) {
    if (isCounted) {
      arrivals.begun(arrival, claimed, now);
    }
  }

  private void enter(Stage next, long its) {
    stage = next;
    first = its;
  }

  private long made(Stage of) {
    return made[of.ordinal()];
  }

  /** Returns the number of the call, which decides its data. */
  long number() {
    return number;
  }

  /** Returns the call's slot in the log. */
  int slot() {
    return slot;
  }

  /** Returns the number of warm-up calls that the thread has begun. */
  long warmupCalls() {
    return made(Stage.WARMUP);
  }

  /** Returns the number of lead calls that the thread has begun. */
  long leadCalls() {
    return made(Stage.LEAD);
  }

  /** Returns the number of cooldown calls that the thread has begun. */
  long cooldownCalls() {
    return made(Stage.COOLDOWN);
  }
}
