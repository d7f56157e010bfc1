package org.rackbench.harness.trial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Setting;

/** The open loop: when calls come, which ones count, and how a stall changes their times. */
@Timeout(60)
class ArrivalsTest {

  private static final Answer RIGHT = new Answer(null, 0, 0, 0, 0);
  private static final long MINUTE = TimeUnit.MINUTES.toNanos(1);
  private static final long MILLISECOND = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long FIRST_LEAD_NUMBER = 1L << 40;
  private static final Warmup NONE = Warmup.fixed(0);
  private static final Bounds ROOMY = new Bounds(MINUTE, MINUTE, MINUTE);

  @TempDir Path directory;

  private static Arrival even(double rate) {
    return new Arrival(rate, false, 0.5);
  }

  private static Arrival poisson(double rate) {
    return new Arrival(rate, true, 0.5);
  }

  private static long[] gaps(Arrivals arrivals, int count) {
    return LongStream.range(0, count).map(i -> arrivals.due(i + 1) - arrivals.due(i)).toArray();
  }

  @Test
  void evenArrivalsAreAsFarApartAsTheRateSays() {
    Arrivals arrivals = new Arrivals(even(200), 7, 10);
    assertTrue(Arrays.stream(gaps(arrivals, 500)).allMatch(gap -> gap == 5 * MILLISECOND));
    assertEquals(500 * MILLISECOND, arrivals.countedFrom() - arrivals.due(0));
    assertEquals(100, LongStream.range(0, 1000).filter(i -> arrivals.counted(i) < 0).count());
    assertEquals(10, LongStream.range(0, 1000).filter(arrivals::isCounted).count());
  }

  @Test
  void poissonArrivalsHaveExponentialGapsThatTheSeedDecides() {
    Arrivals arrivals = new Arrivals(poisson(1000), 7, 20_000);
    double[] gaps = Arrays.stream(gaps(arrivals, 20_000)).mapToDouble(gap -> gap / 1e6).toArray();
    double mean = Arrays.stream(gaps).average().orElseThrow();
    double variance = Arrays.stream(gaps).map(gap -> (gap - mean) * (gap - mean)).sum() / 20_000;
    // Five standard errors of an exponential distribution with the mean 1.
    assertEquals(1, mean, 5 / Math.sqrt(20_000));
    assertEquals(1, variance, 5 * Math.sqrt(8 / 20_000.0));
    long[] again = gaps(new Arrivals(poisson(1000), 7, 20_000), 100);
    assertEquals(Arrays.toString(gaps(arrivals, 100)), Arrays.toString(again));
    long[] others = gaps(new Arrivals(poisson(1000), 8, 20_000), 100);
    assertNotEquals(Arrays.toString(others), Arrays.toString(again));
  }

  @Test
  void theRateIsKeptBeyondTheSequence() {
    Arrivals arrivals = new Arrivals(poisson(1000), 7, 2000);
    double seconds = (arrivals.due(50_000) - arrivals.due(0)) / 1e9;
    assertEquals(50, seconds, 5);
    assertTrue(Arrays.stream(gaps(arrivals, 50_000)).allMatch(gap -> gap >= 0));
  }

  /** A client that sleeps for a while in each call. */
  private static class Sleeper implements Client, Caller {

    final Queue<Long> numbers = new ConcurrentLinkedQueue<>();
    private final long millis;

    Sleeper(long millis) {
      this.millis = millis;
    }

    @Override
    public void open(Setting setting) {}

    @Override
    public Caller caller(int thread) {
      return this;
    }

    @Override
    public void prepare(long number) throws Exception {
      numbers.add(number);
    }

    @Override
    public void call() throws Exception {
      Thread.sleep(millis);
    }

    @Override
    public Answer verify() {
      return RIGHT;
    }

    @Override
    public void close() {}
  }

  /** A loop whose calls come at even gaps, and its log. */
  private static final class Open {

    private final CallLog log;
    private final Arrivals arrivals;
    private final MeasuringLoop loop;

    /**
     * @param rate calls a second of all threads together
     * @param calls counted calls of each thread
     */
    Open(Client client, double rate, int threads, Warmup warmup, int calls, Observer... observers) {
      log = new CallLog(threads, warmup, calls);
      arrivals = new Arrivals(even(rate), 1, threads * calls);
      loop = new MeasuringLoop(client, log, arrivals, threads, warmup, calls, List.of(observers));
    }

    /** Makes all its calls. */
    Open run() throws Exception {
      assertTrue(loop.run(ROOMY));
      return this;
    }
  }

  private List<String[]> measured(CallLog log) throws Exception {
    Path file = directory.resolve("calls.csv");
    log.write(file, 0);
    return Files.readAllLines(file).stream()
        .map(row -> row.split(","))
        .filter(row -> row[2].equals("measure"))
        .toList();
  }

  private static double[] sorted(List<String[]> rows, boolean isResponse) {
    return rows.stream()
        .mapToDouble(
            row -> {
              long waited = isResponse ? Long.parseLong(row[4]) - Long.parseLong(row[3]) : 0;
              return (waited + Long.parseLong(row[5])) / 1e9;
            })
        .sorted()
        .toArray();
  }

  private static double p99(double[] sorted) {
    return sorted[(int) Math.ceil(0.99 * sorted.length) - 1];
  }

  @Test
  void callsAreMadeWhenTheyAreDueByWhoeverIsFree() throws Exception {
    Sleeper client = new Sleeper(20);
    Open open = new Open(client, 50, 4, Warmup.fixed(3), 10).run();
    List<String[]> rows = measured(open.log);
    assertEquals(40, rows.size());
    for (int i = 0; i < 40; i++) {
      long due = open.arrivals.countedFrom() + i * 20 * MILLISECOND;
      assertEquals(due, Long.parseLong(rows.get(i)[3]));
      assertTrue(Long.parseLong(rows.get(i)[4]) >= Long.parseLong(rows.get(i)[3]));
    }
    assertEquals(
        LongStream.range(12, 52).boxed().toList(),
        client.numbers.stream().filter(n -> n >= 12 && n < 52).sorted().toList(),
        "the data of the counted calls follow those of the warm-up");
    long lead = client.numbers.stream().filter(n -> n >= FIRST_LEAD_NUMBER).count();
    assertTrue(lead >= 25, "half a second at 50 a second: " + lead);
  }

  @Test
  void aCallThatCannotBePreparedKeepsItsPlaceInTheSchedule() throws Exception {
    Sleeper client =
        new Sleeper(1) {
          @Override
          public void prepare(long number) throws Exception {
            if (number < 20 && number % 2 == 1) {
              throw new IOException("refused");
            }
          }
        };
    Open open = new Open(client, 100, 1, NONE, 20).run();
    List<String[]> rows = measured(open.log);
    assertEquals(20, rows.size());
    for (int i = 0; i < 20; i++) {
      String[] row = rows.get(i);
      long due = open.arrivals.countedFrom() + i * 10 * MILLISECOND;
      assertEquals(Long.toString(due), row[3], "intended_ns of call " + i);
      assertTrue(Long.parseLong(row[4]) >= due, "call " + i + " was made before it was due");
      assertEquals(i % 2 == 1 ? "error" : "ok", row[8]);
    }
  }

  @Test
  void aCallThatFindsNoFreeThreadWaitsAndItsWaitCounts() throws Exception {
    Open open = new Open(new Sleeper(20), 100, 1, NONE, 30).run();
    List<String[]> rows = measured(open.log);
    int free = open.arrivals.foundFree();
    assertTrue(free <= 1, free + " found the thread free");
    double[] response = sorted(rows, true);
    double[] service = sorted(rows, false);
    // The thread serves 50 of 100 a second, so each call waits 10 ms longer than the one before.
    assertTrue(response[29] - response[0] > 0.25, Arrays.toString(response));
    assertTrue(response[0] > 0.4, "the backlog of the lead: " + response[0]);
    assertTrue(service[15] < 0.1, Arrays.toString(service));
    assertEquals(0, open.arrivals.lateNanos(), "the sender was not late: no thread was free");
  }

  /** A client whose service stalls once. */
  private static final class Stalling extends Sleeper {

    private final long afterMillis;
    private final long stallMillis;
    private volatile long begun;

    Stalling(long afterMillis, long stallMillis) {
      super(1);
      this.afterMillis = afterMillis;
      this.stallMillis = stallMillis;
    }

    @Override
    public void call() throws Exception {
      long now = System.nanoTime();
      if (begun == 0) {
        begun = now;
      }
      long since = (now - begun) / MILLISECOND - afterMillis;
      Thread.sleep(since >= 0 && since < stallMillis ? stallMillis - since : 1);
    }
  }

  @Test
  void aStallShowsInTheOpenLoopAndHidesInTheClosedOne() throws Exception {
    Open open = new Open(new Stalling(1500, 400), 100, 2, NONE, 200).run();
    double seen = p99(sorted(measured(open.log), true));
    assertTrue(seen > 0.3, "a stall of 0.4 s in 4 s: " + seen);
    CallLog closed = new CallLog(2, NONE, 1000);
    new MeasuringLoop(new Stalling(500, 400), closed, 2, NONE, 1000, List.of()).run(ROOMY);
    double hidden = p99(sorted(measured(closed), false));
    assertTrue(hidden < 0.3, "two calls of 2000 met it: " + hidden);
  }

  @Test
  void aSenderThatIsLateIsFound() throws Exception {
    Sleeper late =
        new Sleeper(1) {
          @Override
          public void prepare(long number) throws Exception {
            Thread.sleep(number % 2 * 150); // free, and not ready when its call is due
          }
        };
    long found = lateness(late);
    assertTrue(found > 40 * MILLISECOND, "a call is due 100 ms after the last: " + found);
    assertTrue(lateness(new Sleeper(1)) < found);
    assertEquals(MILLISECOND, Arrivals.allowedNanos(MILLISECOND));
    assertEquals(5 * MILLISECOND, Arrivals.allowedNanos(100 * MILLISECOND));
  }

  @Test
  void howLateASenderIsLeavesOutOneCallOfAHundredAndThoseThatFoundNoThread() {
    Arrivals arrivals = new Arrivals(even(200), 7, 200);
    arrivals.begin(0);
    for (int i = 0; i < 200; i++) {
      long due = arrivals.due(100 + i); // half a second at 200 a second does not count
      arrivals.begun(100 + i, due, due + 1 + i);
    }
    assertEquals(198, arrivals.lateNanos());
    assertEquals(200, arrivals.foundFree());
    arrivals.begun(299, arrivals.due(299) + 1, arrivals.due(299) + MINUTE);
    assertEquals(199, arrivals.foundFree());
    assertEquals(198, arrivals.lateNanos());
  }

  private static long lateness(Client client) throws Exception {
    return new Open(client, 10, 1, NONE, 5).run().arrivals.lateNanos();
  }

  @Test
  void aThreadThatWaitsLeavesWhenTheTimeIsOver() throws Exception {
    Open rare = new Open(new Sleeper(1), 0.5, 2, NONE, 10);
    long begun = System.nanoTime();
    assertFalse(rare.loop.run(new Bounds(TimeUnit.SECONDS.toNanos(1), MINUTE, MINUTE)));
    assertTrue(System.nanoTime() - begun < TimeUnit.SECONDS.toNanos(10));
    assertEquals(List.of(), rare.log.errors(), "what was never sent is no error");
  }

  @Test
  void theObserversAreToldBeforeTheFirstCountedCallIsDue() throws Exception {
    CountDownLatch told = new CountDownLatch(1);
    long[] at = new long[2];
    Observer observer =
        new Observer() {
          @Override
          public void before() {
            at[0] = System.nanoTime();
          }

          @Override
          public void after() {
            at[1] = System.nanoTime();
            told.countDown();
          }
        };
    Open open = new Open(new Sleeper(1), 100, 1, NONE, 20, observer).run();
    assertEquals(0, told.getCount());
    assertTrue(at[0] < open.arrivals.countedFrom());
    assertTrue(at[1] > open.arrivals.countedFrom() + 190 * MILLISECOND);
  }
}
