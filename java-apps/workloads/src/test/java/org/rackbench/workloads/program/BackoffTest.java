package org.rackbench.workloads.program;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class BackoffTest {

  private static void assertWithin(long least, long most, long millis) {
    assertTrue(
        least <= millis && millis < most, millis + " is not within " + least + " to " + most);
  }

  @Test
  void pausesGrowToTenSecondsAndBeginAnewAfterASuccess() {
    Backoff backoff = new Backoff();
    assertWithin(100, 200, backoff.next());
    assertWithin(200, 400, backoff.next());
    for (int i = 0; i < 10; i++) {
      backoff.next();
    }
    assertWithin(5000, 10_000, backoff.next());
    backoff.reset();
    assertWithin(100, 200, backoff.next());
  }
}
