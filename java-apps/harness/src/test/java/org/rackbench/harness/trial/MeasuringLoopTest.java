package org.rackbench.harness.trial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Setting;

@Timeout(60)
class MeasuringLoopTest {

  private static final Answer RIGHT = new Answer(null, 0, 0, 0, 0);

  /** Numbers of lead calls begin with this one; all others are smaller. */
  private static final long LEAD = 1L << 40;

  private static final long MINUTE = TimeUnit.MINUTES.toNanos(1);

  @TempDir Path directory;

  /** A client whose callers do nothing; tests override single steps. */
  private static class Quiet implements Client, Caller {

    @Override
    public void open(Setting setting) {}

    @Override
    public Caller caller(int thread) {
      return this;
    }

    @Override
    public void prepare(long seq) throws Exception {}

    @Override
    public void call() throws Exception {}

    @Override
    public Answer verify() throws Exception {
      return RIGHT;
    }

    @Override
    public void close() {}
  }

  @Test
  void onlyTheCallIsTimed() throws Exception {
    Client slowBesides =
        new Quiet() {
          @Override
          public void prepare(long seq) throws Exception {
            Thread.sleep(50);
          }

          @Override
          public Answer verify() throws Exception {
            Thread.sleep(50);
            return RIGHT;
          }
        };
    CallLog log = new CallLog(1, Warmup.fixed(0), 5);
    new MeasuringLoop(slowBesides, log, 1, Warmup.fixed(0), 5, List.of()).run(Bounds.NONE);
    assertTrue(log.medianNanos() < TimeUnit.MILLISECONDS.toNanos(50), log.medianNanos() + " ns");
  }

  @Test
  void noThreadMeasuresBeforeAllAreWarm() throws Exception {
    Queue<Long> order = new ConcurrentLinkedQueue<>();
    Client oneSlow =
        new Quiet() {
          @Override
          public void prepare(long seq) throws Exception {
            Thread.sleep(seq % 2 == 1 ? 20 : 0); // thread 1
            order.add(seq);
          }
        };
    List<Boolean> isWarm = new ArrayList<>();
    Warmup warmup = Warmup.fixed(5);
    MeasuringLoop loop =
        new MeasuringLoop(
            oneSlow,
            new CallLog(2, warmup, 5),
            2,
            warmup,
            5,
            List.of(
                new Observer() {
                  @Override
                  public void before() {
                    isWarm.add(warmupCalls(order) == 10);
                  }
                }));
    loop.run(Bounds.NONE);
    assertEquals(List.of(true), isWarm);
    assertEquals(20, order.stream().filter(seq -> seq < 20).count());
    List<Long> begun = List.copyOf(order);
    long first = begun.stream().filter(seq -> seq >= 10 && seq < 20).findFirst().orElseThrow();
    long warm = warmupCalls(begun.subList(0, begun.indexOf(first)));
    assertEquals(10, warm, order.toString());
  }

  private static long warmupCalls(Collection<Long> numbers) {
    return numbers.stream().filter(number -> number < 10).count();
  }

  @Test
  void aTimeoutOfASocketIsATimeout() throws Exception {
    Client silent =
        new Quiet() {
          @Override
          public void call() throws Exception {
            throw new IllegalStateException(new SocketTimeoutException("Read timed out"));
          }
        };
    CallLog log = new CallLog(1, Warmup.fixed(0), 1);
    new MeasuringLoop(silent, log, 1, Warmup.fixed(0), 1, List.of()).run(Bounds.NONE);
    Path file = directory.resolve("calls.csv");
    log.write(file, 0);
    assertTrue(Files.readAllLines(file).get(1).endsWith(",timeout"));
  }

  @Test
  void whatHangsIsCutOffAndTheOtherRowsStay() throws Exception {
    CountDownLatch hung = new CountDownLatch(1);
    CountDownLatch never = new CountDownLatch(1);
    Client oneHangs =
        new Quiet() {
          @Override
          public Caller caller(int thread) {
            return new Quiet() {
              private long number;

              @Override
              public void prepare(long seq) {
                number = seq;
              }

              @Override
              public void call() throws Exception {
                if (thread == 1 && number < LEAD) {
                  hung.countDown();
                  never.await();
                } else if (number < LEAD) {
                  hung.await(); // so that thread 0 measures only once thread 1 hangs
                }
              }
            };
          }
        };
    CallLog log = new CallLog(2, Warmup.fixed(0), 3);
    assertFalse(
        new MeasuringLoop(oneHangs, log, 2, Warmup.fixed(0), 3, List.of())
            .run(
                new Bounds(
                    TimeUnit.SECONDS.toNanos(1),
                    TimeUnit.MILLISECONDS.toNanos(10),
                    Long.MAX_VALUE)));
    never.countDown(); // a later end changes no row
    Path file = directory.resolve("calls.csv");
    log.write(file, 0);
    List<String> rows =
        Files.readAllLines(file).stream().filter(row -> row.contains(",measure,")).toList();
    assertEquals(3, rows.stream().filter(row -> row.endsWith(",ok")).count(), rows.toString());
    String cutOff = rows.stream().filter(row -> !row.endsWith(",ok")).toList().toString();
    assertTrue(cutOff.matches("\\[[0-9]+,1,measure,,[0-9]+,[0-9]+,0,0,timeout\\]"), cutOff);
    assertEquals(4, log.measured());
  }

  @Test
  void noCallBeginsWhenTheTimeIsOver() throws Exception {
    Client slow =
        new Quiet() {
          @Override
          public void call() throws Exception {
            Thread.sleep(20);
          }
        };
    CallLog log = new CallLog(1, Warmup.fixed(5), 1000);
    MeasuringLoop loop = new MeasuringLoop(slow, log, 1, Warmup.fixed(5), 1000, List.of());
    assertFalse(
        loop.run(
            new Bounds(TimeUnit.SECONDS.toNanos(1), TimeUnit.SECONDS.toNanos(30), Long.MAX_VALUE)));
    assertTrue(log.measured() < 1000);
    assertEquals(log.measured(), log.measuredOk(), "the call under way had time to end");
  }

  /** Makes thread 1 wait until thread 0 has made the call with this number. */
  private static class OneWaits extends Quiet {

    final Queue<Long> numbers = new ConcurrentLinkedQueue<>();
    private final long awaited;
    private final CountDownLatch reached = new CountDownLatch(1);

    OneWaits(long awaited) {
      this.awaited = awaited;
    }

    @Override
    public Caller caller(int thread) {
      return new Quiet() {
        private long number;

        @Override
        public void prepare(long number) {
          this.number = number;
          numbers.add(number);
        }

        @Override
        public void call() throws Exception {
          if (thread == 1) {
            reached.await();
          } else if (number == awaited) {
            reached.countDown();
          }
          fail(number);
        }
      };
    }

    void fail(long number) throws Exception {}
  }

  @Test
  void aThreadCallsOnUntilAllHaveMeasuredAndNothingOfThatCounts() throws Exception {
    OneWaits client = new OneWaits(2 * (10 + 15));
    Warmup none = Warmup.fixed(0);
    CallLog log = new CallLog(2, none, 10);
    AtomicInteger ended = new AtomicInteger();
    MeasuringLoop loop =
        new MeasuringLoop(
            client,
            log,
            2,
            none,
            10,
            List.of(
                new Observer() {
                  @Override
                  public void after() {
                    ended.addAndGet(log.measured());
                  }
                }));
    assertTrue(loop.run(new Bounds(MINUTE, MINUTE, MINUTE)));
    assertEquals(20, ended.get(), "told once, when all measured calls are made");
    Path file = directory.resolve("calls.csv");
    log.write(file, 0);
    List<String> rows = Files.readAllLines(file).stream().skip(1).toList();
    assertEquals(20, rows.stream().filter(row -> row.contains(",measure,")).count());
    List<String> cooldown =
        rows.stream().filter(row -> row.matches("[0-9]+,0,cooldown,.*")).toList();
    assertEquals(10, cooldown.size(), "no more than measured calls of the thread are kept");
    assertTrue(loop.cooldownCalls() > 15, loop.cooldownCalls() + " calls");
    assertEquals(client.numbers.size(), 20 + loop.leadCalls() + loop.cooldownCalls());
    for (int seq = 0; seq < rows.size(); seq++) {
      assertTrue(rows.get(seq).startsWith(seq + ","), rows.get(seq));
    }
  }

  @Test
  void aFaultOfTheCooldownIsARowWithoutAText() throws Exception {
    Client failsAfterwards =
        new OneWaits(6) {
          @Override
          void fail(long number) {
            if (number >= 6) {
              throw new IllegalStateException("late");
            }
          }
        };
    Warmup none = Warmup.fixed(0);
    CallLog log = new CallLog(2, none, 3);
    assertTrue(
        new MeasuringLoop(failsAfterwards, log, 2, none, 3, List.of())
            .run(new Bounds(MINUTE, MINUTE, MINUTE)));
    assertEquals(6, log.measuredOk());
    assertTrue(log.cooldownRows() > 0);
    assertEquals(List.of(), log.errors());
  }

  @Test
  void aCooldownCallThatIsLostIsNotWaitedForUntilItsLimit() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    Client losesALateAnswer =
        new OneWaits(6) {
          @Override
          void fail(long number) throws InterruptedException {
            if (number == 6) {
              never.await();
            }
          }
        };
    Warmup none = Warmup.fixed(0);
    CallLog log = new CallLog(2, none, 3);
    Bounds bounds = new Bounds(10 * MINUTE, TimeUnit.MILLISECONDS.toNanos(10), 10 * MINUTE);
    assertTrue(new MeasuringLoop(losesALateAnswer, log, 2, none, 3, List.of()).run(bounds));
    never.countDown();
    assertEquals(6, log.measuredOk());
    Path file = directory.resolve("calls.csv");
    log.write(file, 0);
    assertTrue(
        Files.readAllLines(file).stream()
            .anyMatch(row -> row.matches("[0-9]+,0,cooldown,.*,timeout")));
  }

  @Test
  void steadyCallsEndTheWarmupAndTheMeasuredOnesKeepTheirNumbers() throws Exception {
    Queue<Long> numbers = new ConcurrentLinkedQueue<>();
    Client steady =
        new Quiet() {
          @Override
          public void prepare(long number) {
            numbers.add(number);
          }

          @Override
          public void call() throws Exception {
            Thread.sleep(1);
          }
        };
    Warmup warmup = new Warmup(60, 100_000, 0.5);
    CallLog log = new CallLog(1, warmup, 3);
    MeasuringLoop loop = new MeasuringLoop(steady, log, 1, warmup, 3, List.of());
    assertTrue(loop.run(Bounds.NONE));
    assertEquals(true, loop.isSteady());
    long warm = loop.warmupCalls();
    assertTrue(warm >= 60 && warm < 10_000, warm + " calls");
    assertEquals(
        List.of(100_000L, 100_001L, 100_002L),
        numbers.stream().filter(number -> number < LEAD).skip(warm).limit(3).toList());
    Path file = directory.resolve("calls.csv");
    log.write(file, 0);
    List<String> rows = Files.readAllLines(file).stream().skip(1).toList();
    String first = log.warmupRows() + ",0,measure,";
    assertTrue(rows.get(log.warmupRows()).startsWith(first), rows.get(log.warmupRows()));
  }

  @Test
  void driftingCallsWarmUpToTheEnd() throws Exception {
    Client drifting =
        new Quiet() {
          private long calls;

          @Override
          public void call() throws Exception {
            Thread.sleep(0, (int) (100_000 + 20_000 * ++calls));
          }
        };
    Warmup warmup = new Warmup(10, 45, 0.01);
    CallLog log = new CallLog(1, warmup, 1);
    MeasuringLoop loop = new MeasuringLoop(drifting, log, 1, warmup, 1, List.of());
    assertTrue(loop.run(Bounds.NONE));
    assertEquals(false, loop.isSteady());
    assertEquals(45, loop.warmupCalls());
  }

  @Test
  void oneThreadDecidesForAllOverTheCallsOfAll() throws Exception {
    Client steady =
        new Quiet() {
          @Override
          public void call() throws Exception {
            Thread.sleep(1);
          }
        };
    Warmup warmup = new Warmup(20, 100_000, 0.5);
    CallLog log = new CallLog(8, warmup, 2);
    MeasuringLoop loop = new MeasuringLoop(steady, log, 8, warmup, 2, List.of());
    assertTrue(loop.run(new Bounds(MINUTE, MINUTE, MINUTE)));
    assertEquals(true, loop.isSteady());
    assertEquals(16, log.measuredOk());
    long warm = loop.warmupCalls();
    assertTrue(warm >= 8 * 20 && warm < 80_000, warm + " calls");
  }

  @Test
  void aCallThatTookLongerThanItsLimitIsATimeoutHoweverItEnded() throws Exception {
    Client slow =
        new Quiet() {
          private long number;

          @Override
          public void prepare(long seq) {
            number = seq;
          }

          @Override
          public void call() throws Exception {
            Thread.sleep(number == 0 ? 0 : 50);
            if (number == 2) {
              throw new IllegalStateException("the broker did not acknowledge");
            }
          }
        };
    CallLog log = new CallLog(1, Warmup.fixed(0), 3);
    new MeasuringLoop(slow, log, 1, Warmup.fixed(0), 3, List.of())
        .run(new Bounds(MINUTE, 0, TimeUnit.MILLISECONDS.toNanos(40)));
    Path file = directory.resolve("calls.csv");
    log.write(file, 0);
    List<String> rows =
        Files.readAllLines(file).stream().filter(row -> row.contains(",measure,")).toList();
    assertTrue(rows.get(0).endsWith(",ok"), rows.toString());
    assertTrue(rows.get(1).endsWith(",timeout"), rows.toString());
    assertTrue(rows.get(2).endsWith(",timeout"), rows.toString());
  }

  /** Opens when each thread has made this many calls of a kind. */
  private static final class Each {

    private final Map<Integer, AtomicInteger> calls = new ConcurrentHashMap<>();
    private final CountDownLatch all;
    private final int needed;

    Each(int threads, int needed) {
      this.all = new CountDownLatch(threads);
      this.needed = needed;
    }

    void made(int thread) {
      if (calls.computeIfAbsent(thread, t -> new AtomicInteger()).incrementAndGet() == needed) {
        all.countDown();
      }
    }

    void await() {
      try {
        all.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  /**
   * Thread 0 is warm first, and the others end their warm-up only when it has made further calls.
   * An observer waits for calls of every thread before and after the measured phase. If any thread
   * waited for another or for an observer, none would continue, and the test would not end.
   */
  @Test
  void noThreadEverWaitsForAnotherOrForAnObserver() throws Exception {
    int threads = 30;
    int most = 5;
    int calls = 4;
    Each leadOfFirst = new Each(1, 100);
    Each leads = new Each(threads, 10);
    Each cooldowns = new Each(threads, 10);
    AtomicBoolean isObserved = new AtomicBoolean();
    Queue<String> early = new ConcurrentLinkedQueue<>();
    Client client =
        new Quiet() {
          @Override
          public Caller caller(int thread) {
            return new Quiet() {
              @Override
              public void prepare(long number) {
                if (number < threads * most) {
                  if (thread > 0 && number >= threads * (most - 1)) {
                    leadOfFirst.await(); // the last call of its warm-up
                  }
                } else if (number < threads * (most + calls)) {
                  if (!isObserved.get()) {
                    early.add("call " + number + " of thread " + thread);
                  }
                } else if (number >= LEAD) {
                  leads.made(thread);
                  if (thread == 0) {
                    leadOfFirst.made(0);
                  }
                } else {
                  cooldowns.made(thread);
                }
              }
            };
          }
        };
    Observer observer =
        new Observer() {
          @Override
          public void before() {
            leads.await();
            isObserved.set(true);
          }

          @Override
          public void after() {
            cooldowns.await();
          }
        };
    Warmup warmup = Warmup.fixed(most);
    CallLog log = new CallLog(threads, warmup, calls);
    MeasuringLoop loop = new MeasuringLoop(client, log, threads, warmup, calls, List.of(observer));
    assertTrue(loop.run(new Bounds(MINUTE, MINUTE, MINUTE)));
    assertEquals(List.of(), List.copyOf(early), "measured before the observer was ready");
    assertEquals(threads * calls, log.measuredOk());
    assertTrue(loop.leadCalls() >= 100 + 10 * (threads - 1), loop.leadCalls() + " calls");
    assertEquals(threads * most, loop.warmupCalls());
  }

  /** The log has the last calls before the measured ones, and also all warm-up calls. */
  @Test
  void theLogShowsThatAThreadGoesOnWithoutAPause() throws Exception {
    Each leads = new Each(1, 3 * CallLog.LEADS_KEPT);
    Client client =
        new Quiet() {
          @Override
          public void prepare(long number) {
            if (number >= LEAD) {
              leads.made(0);
            }
          }
        };
    Observer observer =
        new Observer() {
          @Override
          public void before() {
            leads.await();
          }
        };
    Warmup warmup = Warmup.fixed(2);
    CallLog log = new CallLog(1, warmup, 3);
    MeasuringLoop loop = new MeasuringLoop(client, log, 1, warmup, 3, List.of(observer));
    assertTrue(loop.run(Bounds.NONE));
    assertEquals(2 + CallLog.LEADS_KEPT, log.warmupRows());
    assertTrue(loop.leadCalls() >= 3 * CallLog.LEADS_KEPT);
  }

  /** An open loop of one thread with a lead of 30 s, which nobody may be told of. */
  private static MeasuringLoop longLead(Client client) {
    Observer observer =
        new Observer() {
          @Override
          public void before() {
            throw new IllegalStateException("the lead has not ended");
          }
        };
    Warmup warmup = Warmup.fixed(1);
    CallLog log = new CallLog(1, warmup, 10);
    Arrivals arrivals = new Arrivals(new Arrival(100, false, 30), 1, 10);
    return new MeasuringLoop(client, log, arrivals, 1, warmup, 10, List.of(observer));
  }

  @Test
  @Timeout(10)
  void aLeadEndsWithTheTimeOfTheTrial() throws Exception {
    MeasuringLoop loop = longLead(new Quiet());
    assertFalse(loop.run(new Bounds(TimeUnit.SECONDS.toNanos(1), 0, Long.MAX_VALUE)));
    assertEquals(1, loop.warmupCalls());
    assertTrue(loop.leadCalls() > 10, loop.leadCalls() + " calls");
  }

  @Test
  @Timeout(10)
  void aLeadEndsWithTheFailureOfAThread() {
    Client broken =
        new Quiet() {
          @Override
          public void prepare(long number) {
            if (number >= 2 * LEAD) { // an arrival
              throw new IllegalStateException() {
                @Override
                public String getMessage() {
                  throw new IllegalArgumentException("no text of this error");
                }
              };
            }
          }
        };
    String said =
        assertThrows(
                Exception.class, () -> longLead(broken).run(new Bounds(MINUTE, MINUTE, MINUTE)))
            .getMessage();
    assertEquals("no text of this error", said);
  }

  @Test
  void observersAreToldInOrderAndInReverse() throws Exception {
    List<String> told = new ArrayList<>();
    List<Observer> observers = new ArrayList<>();
    for (String name : List.of("slow", "exact")) {
      observers.add(
          new Observer() {
            @Override
            public void before() {
              told.add(name + " before");
            }

            @Override
            public void after() {
              told.add(name + " after");
            }
          });
    }
    CallLog log = new CallLog(1, Warmup.fixed(0), 1);
    new MeasuringLoop(new Quiet(), log, 1, Warmup.fixed(0), 1, observers).run(Bounds.NONE);
    assertEquals(List.of("slow before", "exact before", "exact after", "slow after"), told);
  }

  @Test
  void aCallerThatCannotBeMadeEndsTheOthersAndIsTheReason() {
    Client oneFails =
        new Quiet() {
          @Override
          public Caller caller(int thread) {
            if (thread == 3) {
              throw new IllegalStateException("refused");
            }
            return this;
          }
        };
    CallLog log = new CallLog(5, Warmup.fixed(1), 1);
    Observer never =
        new Observer() {
          @Override
          public void before() {
            throw new AssertionError("no phase is measured");
          }
        };
    MeasuringLoop loop = new MeasuringLoop(oneFails, log, 5, Warmup.fixed(1), 1, List.of(never));
    Exception thrown = assertThrows(Exception.class, () -> loop.run(Bounds.NONE));
    assertEquals("refused", thrown.getMessage());
    assertEquals(0, log.measured());
  }

  @Test
  void withoutAWarmupTheFirstCallIsMeasuredAndObserversAreReadyBefore() throws Exception {
    Queue<String> order = new ConcurrentLinkedQueue<>();
    Client client =
        new Quiet() {
          @Override
          public void prepare(long number) {
            order.add("call " + number);
          }
        };
    Observer observer =
        new Observer() {
          @Override
          public void before() {
            order.add("observed");
          }
        };
    Warmup none = Warmup.fixed(0);
    CallLog log = new CallLog(2, none, 3);
    MeasuringLoop loop = new MeasuringLoop(client, log, 2, none, 3, List.of(observer));
    assertTrue(loop.run(Bounds.NONE));
    assertEquals("observed", order.peek());
    assertEquals(0, loop.leadCalls());
    assertEquals(0, log.warmupRows());
    assertEquals(6, log.measuredOk());
  }
}
