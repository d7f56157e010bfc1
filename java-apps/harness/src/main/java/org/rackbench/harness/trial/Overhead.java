package org.rackbench.harness.trial;

import java.util.List;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Setting;

/**
 * The cost of the harness itself in this JVM, measured with a client that does nothing. It is
 * measured after the trial's own calls. Before them, the compiler would see two kinds of callers in
 * the loop and would no longer compile it for the measured one.
 *
 * @param timerNanos mean nanoseconds of one {@code System.nanoTime()}
 * @param noopCallNanos median nanoseconds that the loop logs for a call that does nothing
 */
record Overhead(double timerNanos, long noopCallNanos) {

  private static final int CALLS = 10_000; // enough for the compiler, a few milliseconds

  static Overhead measure() throws Exception {
    Warmup warmup = Warmup.fixed(CALLS);
    CallLog log = new CallLog(1, warmup, CALLS);
    new MeasuringLoop(new Noop(), log, 1, warmup, CALLS, List.of()).run(Bounds.NONE);
    return new Overhead(timer(), log.medianNanos());
  }

  private static double timer() {
    long first = System.nanoTime();
    long last = first;
    for (int i = 0; i < CALLS; i++) {
      last = System.nanoTime();
    }
    return (double) (last - first) / CALLS;
  }

  private static final class Noop implements Client, Caller {

    private static final Answer RIGHT = new Answer(null, 0, 0, Answer.UNKNOWN, Answer.UNKNOWN);

    @Override
    public void open(Setting setting) {}

    @Override
    public Caller caller(int thread) {
      return this;
    }

    @Override
    public void prepare(long seq) {}

    @Override
    public void call() {}

    @Override
    public Answer verify() {
      return RIGHT;
    }

    @Override
    public void close() {}
  }
}
