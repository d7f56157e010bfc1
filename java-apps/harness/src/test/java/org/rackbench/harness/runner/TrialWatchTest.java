package org.rackbench.harness.runner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.PlannedTrial;

/** Which health checks spoil a running trial. */
class TrialWatchTest {

  private static final ServingNode NODE =
      new ServingNode("worker1", "127.0.0.1", List.of("tomcat"));
  private static final PlannedTrial TRIAL =
      PlannedTrial.of(
          Json.of(
              "schema",
              1,
              "id",
              "t1",
              "client",
              "puppet",
              "calls",
              1,
              "warmup",
              1,
              "threads",
              1,
              "timeout_s",
              60,
              "seed",
              1,
              "factors",
              Map.of(),
              "constants",
              Map.of(),
              "needs",
              List.of("tomcat")),
          "test");

  private static Look answer(String start) {
    Look look = new Look(0);
    look.server(
        NODE,
        Map.of(
            "services", Map.of("tomcat", Map.of("state", "up", "invocation", start, "ends", 0))));
    return look;
  }

  private static Look miss() {
    Look look = new Look(0);
    look.unreachable(NODE, "timed out");
    return look;
  }

  private static TrialWatch watch(Look... looks) {
    Deque<Look> left = new ArrayDeque<>(List.of(looks));
    return new TrialWatch(trial -> left.remove(), TRIAL, answer("one"));
  }

  @Test
  void missesThatAreNotInARowSpoilNothing() {
    TrialWatch watch = watch(miss(), answer("one"), miss(), answer("one"), miss());
    for (int look = 1; look <= 5; look++) {
      assertFalse(watch.isSpoilt(), "look " + look);
      assertEquals("", watch.fault());
    }
    assertEquals("", watch.doubt(), "no two of them are in a row");
  }

  @Test
  void twoInARowAreADoubtThatAnAnswerDoesNotTakeBack() {
    TrialWatch watch = watch(miss(), miss(), answer("one"));
    assertFalse(watch.isSpoilt() || watch.isSpoilt() || watch.isSpoilt());
    assertEquals("worker1 does not answer in 2 health checks in a row", watch.doubt());
    assertEquals("", watch.fault());
  }

  @Test
  void threeInARowSpoilTheTrialAndNoFewer() {
    TrialWatch watch = watch(miss(), miss(), miss());
    assertFalse(watch.isSpoilt() || watch.isSpoilt());
    assertTrue(watch.isSpoilt());
    assertEquals("worker1 does not answer in 3 health checks in a row", watch.fault());
  }

  @Test
  void anotherStartOfAServiceSpoilsItAtOnce() {
    TrialWatch watch = watch(answer("two"));
    assertTrue(watch.isSpoilt());
    assertTrue(watch.fault().startsWith("tomcat on worker1 ended"), watch.fault());
  }
}
