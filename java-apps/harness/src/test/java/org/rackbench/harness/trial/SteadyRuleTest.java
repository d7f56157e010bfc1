package org.rackbench.harness.trial;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntToDoubleFunction;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;
import org.junit.jupiter.api.Test;
import org.rackbench.harness.api.Answer;

class SteadyRuleTest {

  private static final int SERIES = 1000;
  private static final int LEAST = 20;
  private static final int MOST = 2000;
  private static final double STEADY = 0.05;

  /** Returns the number of calls after which a series is steady; 0 if it never is. */
  private static int steadyAfter(double[] times) {
    Warmup warmup = new Warmup(LEAST, MOST, STEADY);
    CallLog log = new CallLog(1, warmup, 1);
    WarmupPhase phase = new WarmupPhase(warmup, log, 1, System::nanoTime, () -> 0);
    int made = 0;
    while (phase.goesOn(made)) {
      log.time(made, 0, Math.round(times[made] * 1e6));
      log.answer(made, new Answer(null, 0, 0, 0, 0));
      phase.made(++made);
    }
    return phase.isSteady() ? made : 0;
  }

  /** Returns the share of many series that become steady: {@code level(i) * exp(noise)}. */
  private static double shareSteady(IntToDoubleFunction level, ToDoubleFunction<Random> noise) {
    Random random = new Random(1987);
    int steady = 0;
    for (int series = 0; series < SERIES; series++) {
      double[] times = new double[MOST];
      for (int i = 0; i < MOST; i++) {
        times[i] = level.applyAsDouble(i) * Math.exp(noise.applyAsDouble(random));
      }
      steady += steadyAfter(times) > 0 ? 1 : 0;
    }
    return (double) steady / SERIES;
  }

  /**
   * A level that falls as a power of the call's number. At any analysis, it changes by {@code
   * STEADY} between the middles of the second and the last third (1/2 and 5/6 of the calls).
   */
  private static double atTheBound(int i) {
    return Math.pow(i + 1, -Math.log1p(STEADY) / Math.log((5 / 6.0) / (1 / 2.0)));
  }

  @Test
  void aDriftOfTheBoundIsSeldomCalledSteadyWhateverTheNoise() {
    assertTrue(shareSteady(SteadyRuleTest::atTheBound, r -> 0.05 * r.nextGaussian()) <= 0.05);
    assertTrue(shareSteady(SteadyRuleTest::atTheBound, r -> 0.3 * r.nextGaussian()) <= 0.05);
    assertTrue(
        shareSteady(SteadyRuleTest::atTheBound, r -> -0.1 * Math.log(1 - r.nextDouble())) <= 0.05);
  }

  @Test
  void steadyCallsAreCalledSteadyWhenTheNoiseAllowsIt() {
    assertTrue(shareSteady(i -> 1, r -> 0.05 * r.nextGaussian()) >= 0.95);
    assertTrue(shareSteady(i -> 1, r -> -0.1 * Math.log(1 - r.nextDouble())) >= 0.95);
  }

  @Test
  void noiseThatCouldHideADriftIsNotCalledSteady() {
    assertTrue(shareSteady(i -> 1, r -> r.nextGaussian()) <= 0.01);
  }

  @Test
  void theWarmupLastsUntilTheDriftHasEnded() {
    Random random = new Random(7);
    double[] times = new double[MOST];
    for (int i = 0; i < MOST; i++) {
      times[i] = (1 + 3 * Math.exp(-i / 60.0)) * Math.exp(0.02 * random.nextGaussian());
    }
    int after = steadyAfter(times);
    assertTrue(after > 200 && after < 1000, after + " calls");
  }

  @Test
  void aFewCallsSayNothing() {
    long[] same = new long[SteadyRule.FEWEST];
    Arrays.fill(same, 1000);
    assertTrue(SteadyRule.isSteady(same, same.length, same.clone(), same.length, STEADY));
    assertFalse(SteadyRule.isSteady(same, same.length - 1, same.clone(), same.length, STEADY));
  }

  @Test
  void badCallsAreNoTimes() {
    Warmup warmup = new Warmup(LEAST, MOST, STEADY);
    CallLog log = new CallLog(1, warmup, 1);
    WarmupPhase phase = new WarmupPhase(warmup, log, 1, System::nanoTime, () -> 0);
    int made = 0;
    while (phase.goesOn(made)) {
      log.time(made, 0, 1000);
      log.bad(made, CallLog.Status.ERROR, "refused");
      phase.made(++made);
    }
    assertEquals(MOST, made);
    assertEquals(false, phase.isSteady());
  }

  /** Returns the number of equal calls of 10 ms after which the warm-up is steady. */
  private static int steadyAfter(double leastSeconds, LongSupplier compilerMillis) {
    Warmup warmup = new Warmup(LEAST, MOST, STEADY, leastSeconds);
    CallLog log = new CallLog(1, warmup, 1);
    AtomicLong clock = new AtomicLong(5);
    WarmupPhase phase = new WarmupPhase(warmup, log, 1, clock::get, compilerMillis);
    phase.begins();
    int made = 0;
    while (phase.goesOn(made)) {
      clock.addAndGet(10_000_000);
      log.time(made, 0, 10_000_000 + made % 3);
      log.answer(made, new Answer(null, 0, 0, 0, 0));
      phase.made(++made);
    }
    return phase.isSteady() ? made : 0;
  }

  @Test
  void callsAreNotSteadyBeforeTheLeastTime() {
    assertEquals(45, steadyAfter(0, () -> 0)); // 15 calls in each third
    assertEquals(68, steadyAfter(0.46, () -> 0));
    assertEquals(153, steadyAfter(1.5, () -> 0));
    assertEquals(0, steadyAfter(20.1, () -> 0), "20 s are over with the last call");
  }

  @Test
  void callsAreNotSteadyWhileTheCompilerWorks() {
    AtomicLong busy = new AtomicLong();
    assertEquals(0, steadyAfter(0.1, () -> busy.addAndGet(2000)));
    int[] looks = {0};
    // 8 ms of the 230 ms between the third analysis and the fourth: less than 5 %.
    assertEquals(68, steadyAfter(0.1, () -> looks[0]++ < 3 ? 1000L * looks[0] : 3008));
    assertEquals(0, steadyAfter(0, () -> busy.addAndGet(2000)), "also without a least time");
  }

  @Test
  void looksGrowByAHalfAndTheLastIsAtTheEnd() {
    assertArrayEquals(new int[] {20, 30, 45, 68, 100}, SteadyRule.looks(20, 100));
    assertArrayEquals(new int[] {1, 2, 3}, SteadyRule.looks(1, 3));
    assertTrue(SteadyRule.looks(1, Integer.MAX_VALUE).length > 40);
  }
}
