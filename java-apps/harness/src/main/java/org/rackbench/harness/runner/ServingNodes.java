package org.rackbench.harness.runner;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.rackbench.harness.trial.BadInput;
import org.rackbench.harness.trial.LabFile;
import org.rackbench.harness.trial.PlannedTrial;

/** The nodes whose health sockets the runner asks, from {@code lab.json}. */
final class ServingNodes {

  private static final String BROKER = "broker";

  private final LabFile lab;

  ServingNodes(LabFile lab) {
    this.lab = lab;
  }

  /** Returns the TCP port of every node's health socket; 0 when the lab has none. */
  int healthPort() {
    return lab.value("health_port") instanceof Integer port ? port : 0;
  }

  /** Returns the file with the password for restarting services, if the lab has one. */
  Optional<Path> restartPassword() {
    return lab.value("restart_password_file") instanceof String file
        ? Optional.of(Path.of(file))
        : Optional.empty();
  }

  /** Returns that password; throws {@link BadInput} if the lab has none. */
  byte[] readRestartPassword() throws IOException {
    Path file =
        restartPassword()
            .orElseThrow(
                () ->
                    new BadInput(
                        "the plan says restart: block or profile_forks, and this node has no"
                            + " password for that; run site.yml again"));
    return Files.readString(file).strip().getBytes(StandardCharsets.UTF_8);
  }

  /** Returns whether the broker's node offers {@code service}. */
  boolean isOfBroker(String service) {
    return lab.nodes(BROKER).stream()
        .anyMatch(node -> LabFile.services(BROKER, node).contains(service));
  }

  /** Returns the client node, if the file names it. */
  Optional<ServingNode> client() {
    return lab.value("client") instanceof Map<?, ?> client
        ? Optional.of(node(client, "client.", List.of()))
        : Optional.empty();
  }

  /** Returns the nodes that {@code trial} needs: the broker, its workers, and other servers. */
  List<ServingNode> of(PlannedTrial trial) {
    List<ServingNode> nodes = new ArrayList<>();
    Set<String> found = new HashSet<>();
    LabFile shifted = lab.shifted(trial.shift());
    for (String group : lab.groups()) {
      if (!found.containsAll(trial.needs())) {
        boolean isWorkers = group.equals("workers");
        List<Map<String, Object>> of =
            isWorkers ? shifted.workers(trial.servers()) : lab.nodes(group);
        of.forEach(node -> add(group, node, trial, nodes, found));
      }
    }
    List<String> missing = new ArrayList<>(trial.needs());
    missing.removeAll(found);
    if (!missing.isEmpty()) {
      throw new BadInput(
          "%s: no node has the service %s that trial %s needs; correct 'needs' in the study file or provision the client node again"
              .formatted(lab, missing.get(0), trial.id()));
    }
    return nodes;
  }

  private void add(
      String group,
      Map<String, Object> node,
      PlannedTrial trial,
      List<ServingNode> nodes,
      Set<String> found) {
    List<String> offered = LabFile.services(group, node);
    List<String> used = trial.needs().stream().filter(offered::contains).toList();
    if (!used.isEmpty()) {
      nodes.add(node(node, group + "[].", used));
      found.addAll(used);
    }
  }

  private ServingNode node(Map<?, ?> node, String where, List<String> services) {
    return new ServingNode(
        lab.text(node, where, "name"), lab.text(node, where, "address"), services);
  }
}
