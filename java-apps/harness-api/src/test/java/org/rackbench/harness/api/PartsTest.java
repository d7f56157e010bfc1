package org.rackbench.harness.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;

class PartsTest {

  private static final int MARKS = 100_000;
  private static final int ROUNDS = 30;

  @Test
  void eachMomentIsInOnePartAtMost() throws Exception {
    Parts parts = new Parts(true);
    for (int call = 0; call < 2; call++) { // the times of the first one are reset
      parts.reset();
      final long begin = System.nanoTime();
      Thread.sleep(5); // before the first mark
      parts.begin(Part.SERIALISE);
      Thread.sleep(5);
      parts.begin(Part.WAIT);
      Thread.sleep(20);
      parts.begin(Part.REST);
      Thread.sleep(5);
      parts.begin(Part.WAIT);
      parts.begin(Part.REST);
      final long elapsed = System.nanoTime() - begin;
      long serialise = parts.nanos(Part.SERIALISE);
      long wait = parts.nanos(Part.WAIT);
      assertTrue(serialise >= 5_000_000 && wait >= 20_000_000, serialise + " " + wait);
      assertTrue(serialise + wait <= elapsed - 10_000_000, serialise + wait + " of " + elapsed);
    }
  }

  @Test
  void aPartThatNeverBeganIsUnknownAndNotZero() {
    Parts parts = new Parts(true);
    parts.begin(Part.SEND);
    parts.reset();
    parts.begin(Part.PARSE);
    assertEquals(Parts.UNKNOWN, parts.nanos(Part.SEND));
    assertTrue(parts.nanos(Part.PARSE) >= 0);
    Parts leftOut = new Parts(false);
    leftOut.begin(Part.PARSE);
    assertEquals(Parts.UNKNOWN, leftOut.nanos(Part.PARSE));
  }

  @Test
  void thePartsOfAnotherThreadAreAdded() throws Exception {
    Parts request = new Parts(true);
    request.begin(Part.PARSE);
    Thread.sleep(1);
    request.begin(Part.REST);
    Parts job = new Parts(true);
    job.begin(Part.PARSE);
    Thread.sleep(1);
    job.begin(Part.REST);
    long own = job.nanos(Part.PARSE);
    job.add(request);
    assertEquals(own + request.nanos(Part.PARSE), job.nanos(Part.PARSE));
    assertEquals(Parts.UNKNOWN, job.nanos(Part.SEND));
    assertTrue(request.lastMark() < job.lastMark());
  }

  /** Compares the fastest of many rounds, because a busy machine only slows rounds down. */
  @Test
  void aMarkCostsLittleMoreThanReadingTheClock() {
    Parts kept = new Parts(true);
    Parts leftOut = new Parts(false);
    long clock = Long.MAX_VALUE;
    long mark = Long.MAX_VALUE;
    long none = Long.MAX_VALUE;
    for (int round = 0; round < ROUNDS; round++) {
      clock = Math.min(clock, nanos(System::nanoTime));
      mark = Math.min(mark, nanos(() -> marked(kept)));
      none = Math.min(none, nanos(() -> marked(leftOut)));
    }
    assertTrue(mark < 3 * clock, "marks %d, clock %d ns".formatted(mark, clock));
    assertTrue(none < clock / 2, "no marks %d, clock %d ns".formatted(none, clock));
  }

  private static long marked(Parts parts) {
    parts.begin(Part.WAIT);
    return 1;
  }

  private static long nanos(LongSupplier step) {
    long sum = 0;
    long begin = System.nanoTime();
    for (int i = 0; i < MARKS; i++) {
      sum += step.getAsLong();
    }
    long nanos = System.nanoTime() - begin;
    assertTrue(sum != 0); // so that the compiler removes nothing
    return nanos;
  }
}
