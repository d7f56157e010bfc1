package org.rackbench.harness.runner;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.Utc;

/** The state of each node and its services at the last poll, for {@code state.json}. */
final class NodeStates {

  private static final String AWAY = "away";

  private final Map<String, Map<String, Object>> nodes = new TreeMap<>();

  /**
   * Adopts the states of {@code look} and returns whether any state has changed. A node is {@code
   * up} or {@code away}; a service has the state that its health socket reports. {@code since} is
   * the time when the runner first found this state, {@code seen} the time of the last poll, both
   * in UTC.
   */
  boolean takeOver(Look look) {
    boolean changed = false;
    for (Map.Entry<String, Map<String, Object>> seen : look.reports().entrySet()) {
      Map<String, Object> before = nodes.get(seen.getKey());
      Map<String, Object> now = node(seen.getValue(), before);
      changed |= before == null || !states(before).equals(states(now));
      nodes.put(seen.getKey(), now);
    }
    return changed;
  }

  Map<String, Map<String, Object>> all() {
    return nodes;
  }

  private static Map<String, Object> node(Map<String, Object> report, Map<String, Object> before) {
    Map<String, Object> services = new TreeMap<>();
    Map<?, ?> told = Look.object(report.get("services"));
    Map<?, ?> known = Look.object(before == null ? null : before.get("services"));
    told.forEach(
        (name, service) ->
            services.put(
                name.toString(), state(Look.object(service).get("state"), known.get(name))));
    Map<String, Object> node = new LinkedHashMap<>(state(report.isEmpty() ? AWAY : "up", before));
    node.put("seen", Utc.now());
    node.put("disk_free_mb", report.get("disk_free_mb"));
    node.put("services", services);
    return node;
  }

  /** Returns the state and the moment when it began. */
  private static Map<String, Object> state(Object state, Object before) {
    Map<?, ?> known = Look.object(before);
    boolean lasts = state != null && state.equals(known.get("state"));
    return Json.of("state", state, "since", lasts ? known.get("since") : Utc.now());
  }

  private static Map<Object, Object> states(Map<String, Object> node) {
    Map<Object, Object> states = new LinkedHashMap<>();
    states.put("", node.get("state"));
    Look.object(node.get("services"))
        .forEach((name, service) -> states.put(name, Look.object(service).get("state")));
    return states;
  }
}
