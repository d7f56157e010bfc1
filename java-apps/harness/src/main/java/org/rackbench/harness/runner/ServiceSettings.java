package org.rackbench.harness.runner;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.rackbench.harness.trial.Json;

/**
 * The settings of the services of trials, as their nodes read them from the running processes. A
 * node is asked after a trial, and again only if one of its services has restarted since.
 */
final class ServiceSettings implements Observer {

  private static final String FILE = "setting.json";
  private static final String NODE = "node";
  private static final String FACTORY = "connection factory";
  private static final String BROKER = "broker";
  private static final String SYSCTL = "sysctl.";

  private final ServingNodes nodes;
  private final Health health;
  private final Map<List<Object>, Map<?, ?>> known = new HashMap<>();
  private final Map<String, Object> ofNodes;

  /**
   * @param read the settings that the sweep read back from each node, by {@code node on name}
   */
  ServiceSettings(ServingNodes nodes, Health health, Map<String, Object> read) {
    this.nodes = nodes;
    this.health = health;
    this.ofNodes = read;
  }

  /** Returns the settings that the sweep left next to the plan in {@code run}, if any. */
  static Map<String, Object> read(Path run) throws IOException {
    Path file = run.resolve(FILE);
    return Files.exists(file) ? Json.read(file) : Map.of();
  }

  @Override
  public void before(Observation attempt) {}

  /**
   * Contributes the settings of each {@code service on node} of the trial, of the client's
   * connection factory if the trial needs the broker, and those that the sweep read from their
   * nodes. Settings that a node does not report are omitted. A node that restarts within a group
   * loses the values that the sweep gave its kernel, so it is asked for those again.
   */
  @Override
  public Map<String, Object> after(Observation attempt) {
    Map<ServingNode, List<String>> wanted = new LinkedHashMap<>();
    if (nodes.healthPort() != 0) {
      nodes.of(attempt.trial()).forEach(node -> wanted.put(node, node.services()));
      if (attempt.trial().needs().contains(BROKER)) {
        nodes.client().ifPresent(client -> wanted.put(client, List.of(FACTORY)));
      }
    }
    Map<String, Object> found = new LinkedHashMap<>();
    Stream.concat(nodes.client().stream(), wanted.keySet().stream())
        .map(node -> Look.subject(NODE, node))
        .filter(ofNodes::containsKey)
        .forEach(node -> found.put(node, ofNodes.get(node)));
    told(wanted, attempt.lookAfter())
        .forEach(
            (node, told) -> {
              wanted.get(node).stream()
                  .filter(service -> told.get(service) != null)
                  .forEach(service -> found.put(Look.subject(service, node), told.get(service)));
              found.computeIfPresent(
                  Look.subject(NODE, node), (name, read) -> with(read, told.get(NODE)));
            });
    return Json.of("settings", found);
  }

  private static Map<Object, Object> with(Object read, Object now) {
    Map<Object, Object> held = new LinkedHashMap<>(Look.object(read));
    held.putAll(Look.object(now));
    return held;
  }

  /** Returns the parameters of a node's kernel that the sweep set. */
  private List<String> sysctls(ServingNode node) {
    return Look.object(ofNodes.get(Look.subject(NODE, node))).keySet().stream()
        .map(Object::toString)
        .filter(name -> name.startsWith(SYSCTL))
        .map(name -> name.substring(SYSCTL.length()))
        .toList();
  }

  /** Asks, in parallel, all nodes with present starts that are not known yet. */
  private Map<ServingNode, Map<?, ?>> told(Map<ServingNode, List<String>> wanted, Look look) {
    Map<ServingNode, CompletableFuture<Map<?, ?>>> asked = new LinkedHashMap<>();
    wanted.forEach(
        (node, services) -> {
          Map<?, ?> before = known.get(key(node, services, look));
          asked.put(
              node,
              before == null
                  ? health.settings(node, sysctls(node))
                  : CompletableFuture.completedFuture(before));
        });
    Map<ServingNode, Map<?, ?>> told = new LinkedHashMap<>();
    asked.forEach(
        (node, answer) -> {
          told.put(node, answer.join());
          if (!answer.join().isEmpty()) { // if empty, it is asked again after the next trial
            known.put(key(node, wanted.get(node), look), answer.join());
          }
        });
    return told;
  }

  private static List<Object> key(ServingNode node, List<String> services, Look look) {
    List<Object> key = new ArrayList<>(List.of(node.name()));
    services.forEach(service -> key.add(service + look.invocation(Look.subject(service, node))));
    return key;
  }
}
