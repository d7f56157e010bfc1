package org.rackbench.harness.trial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
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

  private static final long MINUTE = TimeUnit.MINUTES.toNanos(1);

  @TempDir Path directory;

  /** A client whose callers do nothing, each step to be overridden. */
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
    new MeasuringLoop(slowBesides, log, 1, Warmup.fixed(0), 5, new Measured() {}).run(Bounds.NONE);
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
            new Measured() {
              @Override
              public void begins() {
                isWarm.add(order.size() == 10);
              }
            });
    loop.run(Bounds.NONE);
    assertEquals(List.of(true), isWarm);
    assertEquals(20, order.stream().filter(seq -> seq < 20).count());
    assertTrue(order.stream().limit(10).allMatch(seq -> seq < 10), order.toString());
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
    new MeasuringLoop(silent, log, 1, Warmup.fixed(0), 1, new Measured() {}).run(Bounds.NONE);
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
              @Override
              public void call() throws Exception {
                if (thread == 1) {
                  hung.countDown();
                  never.await();
                }
                hung.await(); // so that thread 0 calls only once thread 1 hangs
              }
            };
          }
        };
    CallLog log = new CallLog(2, Warmup.fixed(0), 3);
    assertFalse(
        new MeasuringLoop(oneHangs, log, 2, Warmup.fixed(0), 3, new Measured() {})
            .run(
                new Bounds(
                    TimeUnit.SECONDS.toNanos(1),
                    TimeUnit.MILLISECONDS.toNanos(10),
                    Long.MAX_VALUE)));
    never.countDown(); // what ends later changes no row
    Path file = directory.resolve("calls.csv");
    log.write(file, 0);
    List<String> rows =
        Files.readAllLines(file).stream().filter(row -> row.contains(",measure,")).toList();
    assertEquals(3, rows.stream().filter(row -> row.endsWith(",ok")).count(), rows.toString());
    String cutOff = rows.stream().filter(row -> !row.endsWith(",ok")).toList().toString();
    assertTrue(cutOff.matches("\\[1,1,measure,,[0-9]+,[0-9]+,0,0,timeout\\]"), cutOff);
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
    MeasuringLoop loop = new MeasuringLoop(slow, log, 1, Warmup.fixed(5), 1000, new Measured() {});
    assertFalse(
        loop.run(
            new Bounds(TimeUnit.SECONDS.toNanos(1), TimeUnit.SECONDS.toNanos(30), Long.MAX_VALUE)));
    assertTrue(log.measured() < 1000);
    assertEquals(log.measured(), log.measuredOk(), "the call under way had time to end");
  }

  /** Thread 1 calls first once thread 0 has made the call with this number. */
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
            new Measured() {
              @Override
              public void ends() {
                ended.addAndGet(log.measured());
              }
            });
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
    assertEquals(client.numbers.size(), 20 + loop.cooldownCalls());
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
        new MeasuringLoop(failsAfterwards, log, 2, none, 3, new Measured() {})
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
    assertTrue(new MeasuringLoop(losesALateAnswer, log, 2, none, 3, new Measured() {}).run(bounds));
    never.countDown();
    assertEquals(6, log.measuredOk());
    Path file = directory.resolve("calls.csv");
    log.write(file, 0);
    assertTrue(
        Files.readAllLines(file).stream().anyMatch(row -> row.matches("6,0,cooldown,.*,timeout")));
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
    MeasuringLoop loop = new MeasuringLoop(steady, log, 1, warmup, 3, new Measured() {});
    assertTrue(loop.run(Bounds.NONE));
    assertEquals(true, loop.isSteady());
    assertTrue(log.warmupRows() >= 60 && log.warmupRows() < 10_000, log.warmupRows() + " calls");
    assertEquals(
        List.of(100_000L, 100_001L, 100_002L), numbers.stream().skip(log.warmupRows()).toList());
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
    MeasuringLoop loop = new MeasuringLoop(drifting, log, 1, warmup, 1, new Measured() {});
    assertTrue(loop.run(Bounds.NONE));
    assertEquals(false, loop.isSteady());
    assertEquals(45, log.warmupRows());
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
    MeasuringLoop loop = new MeasuringLoop(steady, log, 8, warmup, 2, new Measured() {});
    assertTrue(loop.run(new Bounds(MINUTE, MINUTE, MINUTE)));
    assertEquals(true, loop.isSteady());
    assertEquals(16, log.measuredOk());
    assertTrue(log.warmupRows() >= 8 * 20 && log.warmupRows() < 80_000, log.warmupRows() + "");
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
    new MeasuringLoop(slow, log, 1, Warmup.fixed(0), 3, new Measured() {})
        .run(new Bounds(MINUTE, 0, TimeUnit.MILLISECONDS.toNanos(40)));
    Path file = directory.resolve("calls.csv");
    log.write(file, 0);
    List<String> rows = Files.readAllLines(file);
    assertTrue(rows.get(1).endsWith(",ok"), rows.toString());
    assertTrue(rows.get(2).endsWith(",timeout"), rows.toString());
    assertTrue(rows.get(3).endsWith(",timeout"), rows.toString());
  }
}
