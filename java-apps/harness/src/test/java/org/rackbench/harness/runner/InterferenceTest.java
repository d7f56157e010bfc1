package org.rackbench.harness.runner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class InterferenceTest {

  @Test
  void stealIsInPercentOfTheProcessorsTime() {
    Map<String, Object> found =
        Interference.between(
            Map.of("cpu_ticks", 100, "steal_ticks", 1, "retransmits", 7, "load1", 0.5),
            Map.of("cpu_ticks", 200, "steal_ticks", 11, "retransmits", 9, "load1", 1.5));
    assertEquals(10.0, found.get("steal_percent"));
    assertEquals(2L, found.get("retransmits"));
    assertEquals(List.of(0.5, 1.5), found.get("load1"));
  }

  @Test
  void energyIsInJoulesUnlessItsCounterBeganAgain() {
    Map<String, Object> lower = Map.of("energy_uj", 1_000_000);
    Map<String, Object> higher = Map.of("energy_uj", 3_500_000);
    assertEquals(2.5, Interference.between(lower, higher).get("energy_j"));
    assertNull(Interference.between(higher, lower).get("energy_j"));
  }

  @Test
  void frequencyAndTemperatureAreThoseBeforeAndAfter() {
    Map<String, Object> found =
        Interference.between(
            Map.of("cpu_mhz", 2000, "temperature_c", 41.5),
            Map.of("cpu_mhz", 2400, "temperature_c", 55.0));
    assertEquals(List.of(2000, 2400), found.get("cpu_mhz"));
    assertEquals(List.of(41.5, 55.0), found.get("temperature_c"));
  }

  @Test
  void whatTheMachineDoesNotTellIsNull() {
    Map<String, Object> same = Map.of("cpu_ticks", 100, "steal_ticks", 1);
    Map<String, Object> found = Interference.between(same, same);
    assertNull(found.get("steal_percent"));
    assertNull(found.get("retransmits"));
    assertNull(found.get("load1"));
    assertNull(found.get("maintenance"));
    assertNull(found.get("discarded_bytes"));
  }

  @Test
  void maintenanceIsWhatWorkedBeforeOrAfter() {
    Map<String, Object> found =
        Interference.between(
            Map.of("maintenance", List.of("check of md0"), "discarded_bytes", 4096),
            Map.of(
                "maintenance", List.of("fstrim.service", "check of md0"), "discarded_bytes", 9216));
    assertEquals(List.of("check of md0", "fstrim.service"), found.get("maintenance"));
    assertEquals(5120L, found.get("discarded_bytes"));
  }
}
