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
    CallLog log = new CallLog(1, 0, 5);
    new MeasuringLoop(slowBesides, log, 1, 0, 5, () -> {}).run(MINUTE, 0);
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
    MeasuringLoop loop =
        new MeasuringLoop(
            oneSlow, new CallLog(2, 5, 5), 2, 5, 5, () -> isWarm.add(order.size() == 10));
    loop.run(MINUTE, 0);
    assertEquals(List.of(true), isWarm);
    assertEquals(20, order.size());
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
    CallLog log = new CallLog(1, 0, 1);
    new MeasuringLoop(silent, log, 1, 0, 1, () -> {}).run(MINUTE, 0);
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
    CallLog log = new CallLog(2, 0, 3);
    assertFalse(
        new MeasuringLoop(oneHangs, log, 2, 0, 3, () -> {})
            .run(TimeUnit.SECONDS.toNanos(1), TimeUnit.MILLISECONDS.toNanos(10)));
    never.countDown(); // what ends later changes no row
    Path file = directory.resolve("calls.csv");
    log.write(file, 0);
    List<String> rows = Files.readAllLines(file).stream().skip(1).toList();
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
    CallLog log = new CallLog(1, 5, 1000);
    MeasuringLoop loop = new MeasuringLoop(slow, log, 1, 5, 1000, () -> {});
    assertFalse(loop.run(TimeUnit.SECONDS.toNanos(1), TimeUnit.SECONDS.toNanos(30)));
    assertTrue(log.measured() < 1000);
    assertEquals(log.measured(), log.measuredOk(), "the call under way had time to end");
  }
}
