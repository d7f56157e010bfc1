package org.rackbench.harness.runner;

import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.rackbench.harness.trial.Json;

/** Disturbances of a machine while a trial ran there, from its state before and after. */
final class Interference {

  private Interference() {}

  /**
   * Returns the differences of two {@code machine} objects of a health socket. Pairs are the values
   * before and after; {@code steal_percent} is the share of the processors' time that the host gave
   * to other guests; {@code retransmits} counts TCP segments; {@code energy_j} is the energy of the
   * processors in joules; {@code maintenance} names jobs on disks or packages before or after;
   * {@code discarded_bytes} is the amount that a trim discards. A value that the machine does not
   * report is null.
   */
  static Map<String, Object> between(Map<?, ?> before, Map<?, ?> after) {
    Double ticks = grown("cpu_ticks", before, after);
    Double steal = grown("steal_ticks", before, after);
    Double retransmits = grown("retransmits", before, after);
    Double discarded = grown("discarded_bytes", before, after);
    Double energy = grown("energy_uj", before, after); // less than before if the counter wrapped
    return Json.of(
        "cores", after.get("cores"),
        "load1", pair("load1", before, after),
        "steal_percent", ticks == null || steal == null || ticks <= 0 ? null : 100 * steal / ticks,
        "cpu_mhz", pair("cpu_mhz", before, after),
        "temperature_c", pair("temperature_c", before, after),
        "retransmits", retransmits == null ? null : retransmits.longValue(),
        "energy_j", energy == null || energy < 0 ? null : energy / 1e6,
        "maintenance", maintenance(before, after),
        "discarded_bytes", discarded == null ? null : discarded.longValue());
  }

  private static List<Object> maintenance(Map<?, ?> before, Map<?, ?> after) {
    Set<Object> found = new LinkedHashSet<>();
    boolean isReported = false;
    for (Map<?, ?> machine : List.of(before, after)) {
      if (machine.get("maintenance") instanceof List<?> names) {
        found.addAll(names);
        isReported = true;
      }
    }
    return isReported ? List.copyOf(found) : null;
  }

  private static Object pair(String key, Map<?, ?> before, Map<?, ?> after) {
    return before.get(key) == null || after.get(key) == null
        ? null
        : Arrays.asList(before.get(key), after.get(key));
  }

  private static Double grown(String key, Map<?, ?> before, Map<?, ?> after) {
    return before.get(key) instanceof Number from && after.get(key) instanceof Number to
        ? Double.valueOf(to.doubleValue() - from.doubleValue())
        : null;
  }
}
