package org.rackbench.harness.trial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rackbench.harness.api.Setting;

/** Values of a trial, from the plan to the client. */
class PlannedTrialTest {

  @TempDir private Path directory;

  private Setting setting(Map<String, Object> more) throws IOException {
    Map<String, Object> line = Json.of("schema", 1, "id", "t1", "client", "noop", "calls", 1);
    line.putAll(Json.of("warmup", 1, "threads", 1, "timeout_s", 60, "seed", 42));
    line.putAll(Json.of("factors", Map.of("one", 1), "constants", Map.of()));
    line.putAll(more);
    Path lab = Files.writeString(directory.resolve("lab.json"), "{\"schema\":1,\"workers\":[]}");
    return Trial.setting(PlannedTrial.of(line, "plan.jsonl:1"), lab);
  }

  private int drawing(Map<String, Object> more) throws IOException {
    return setting(more).drawing();
  }

  private Duration limit(Object seconds) throws IOException {
    return setting(Map.of("constants", Map.of("call_timeout_s", seconds))).callTimeout();
  }

  @Test
  void aPlanThatNamesNoDrawingHasTheFirst() throws IOException {
    assertEquals(1, drawing(Map.of()));
    assertEquals(1, drawing(Map.of("drawing", 1)));
    assertEquals(2, drawing(Map.of("drawing", 2)));
  }

  @Test
  void aDrawingThatIsNotKnownIsRefused() {
    for (Object unknown : new Object[] {0, 3, "2"}) {
      BadInput e = assertThrows(BadInput.class, () -> drawing(Map.of("drawing", unknown)));
      assertTrue(
          e.getMessage().startsWith("plan.jsonl:1: 'drawing' is %s, ".formatted(unknown)),
          e.getMessage());
    }
  }

  @Test
  void aLimitOfCallsThatNoSocketTakesIsRefused() throws IOException {
    assertEquals(Duration.ofMillis(1), limit(0.001));
    assertEquals(Duration.ofSeconds(2_147_483), limit(2_147_483));
    assertEquals(Duration.ofSeconds(15), setting(Map.of()).callTimeout(), "a quarter of 60 s");
    for (Object wrong : new Object[] {0, -1, 0.0004, 2_147_484, "soon"}) {
      BadInput e = assertThrows(BadInput.class, () -> limit(wrong));
      String start = "constants.call_timeout_s is %s, not a number".formatted(wrong);
      assertTrue(e.getMessage().startsWith(start), e.getMessage());
    }
  }

  @Test
  void anArrivalIsReadAndWhatIsNoneIsRefused() {
    Map<String, Object> said = Map.of("rate", 200, "spacing", "poisson", "lead_s", 2);
    assertEquals(new Arrival(200, true, 2), Arrival.of(said, "plan.jsonl:1"));
    assertNull(Arrival.of(null, "plan.jsonl:1"));
    for (Object wrong :
        new Object[] {
          "200",
          Map.of("rate", 200),
          Map.of("rate", 0, "spacing", "even", "lead_s", 2),
          Map.of("rate", "fast", "spacing", "even", "lead_s", 2),
          Map.of("rate", 200, "spacing", "odd", "lead_s", 2),
          Map.of("rate", 200, "spacing", "even", "lead_s", 0.1),
          Map.of("rate", 200, "spacing", "even", "lead_s", 2, "burst", 3)
        }) {
      BadInput e = assertThrows(BadInput.class, () -> Arrival.of(wrong, "plan.jsonl:1"));
      assertTrue(e.getMessage().startsWith("plan.jsonl:1: 'arrival' is "), e.getMessage());
    }
  }
}
