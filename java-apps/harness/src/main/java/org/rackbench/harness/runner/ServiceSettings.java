package org.rackbench.harness.runner;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.rackbench.harness.trial.PlannedTrial;

/**
 * What the services of trials run with, as their nodes read it from the running parts. A node is
 * asked after a trial, and again only when one of its services was started anew since.
 */
final class ServiceSettings {

  private static final String FACTORY = "connection factory";
  private static final String BROKER = "broker";

  private final ServingNodes nodes;
  private final Health health;
  private final Map<List<Object>, Map<?, ?>> known = new HashMap<>();

  ServiceSettings(ServingNodes nodes, Health health) {
    this.nodes = nodes;
    this.health = health;
  }

  /**
   * Returns the settings of each {@code service on node} of {@code trial}, and of the connection
   * factory on the client where the trial needs the broker. What a node does not tell is left out.
   *
   * @param look tells which starts of the services are meant
   */
  Map<String, Object> of(PlannedTrial trial, Look look) {
    Map<String, Object> found = new LinkedHashMap<>();
    if (nodes.healthPort() == 0) {
      return found;
    }
    for (ServingNode node : nodes.of(trial)) {
      put(found, node, node.services(), look);
    }
    if (trial.needs().contains(BROKER)) {
      nodes.client().ifPresent(client -> put(found, client, List.of(FACTORY), look));
    }
    return found;
  }

  private void put(Map<String, Object> found, ServingNode node, List<String> services, Look look) {
    List<Object> key = new ArrayList<>(List.of(node.name()));
    services.forEach(service -> key.add(service + look.invocation(Look.subject(service, node))));
    Map<?, ?> told = known.computeIfAbsent(key, starts -> health.settings(node));
    if (told.isEmpty()) {
      known.remove(key); // asked again after the next trial
    }
    for (String service : services) {
      if (told.get(service) != null) {
        found.put(Look.subject(service, node), told.get(service));
      }
    }
  }
}
