package org.rackbench.harness;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The lab as its clients see it: {@code lab.json}, schema 1. Keys it does not know are let be. */
public final class Lab {

  private final Path file;
  private final Map<String, Object> root;

  private Lab(Path file, Map<String, Object> root) {
    this.file = file;
    this.root = root;
  }

  public static Lab read(Path file) throws IOException {
    Map<String, Object> root = Json.read(file);
    if (!Integer.valueOf(1).equals(root.get("schema"))) {
      throw new BadInput(
          file + ": schema is " + root.get("schema") + ", not 1; provision the client node again");
    }
    return new Lab(file, root);
  }

  /** The text called {@code key} of each of the first {@code count} workers, in pool order. */
  public List<String> workers(int count, String key) {
    List<?> workers = root.get("workers") instanceof List<?> list ? list : List.of();
    if (count < 1 || count > workers.size()) {
      throw new BadInput(
          "%s: %d workers asked for, %d there; lower the level or add workers"
              .formatted(file, count, workers.size()));
    }
    List<String> values = new ArrayList<>();
    for (Object worker : workers.subList(0, count)) {
      values.add(text(worker, "workers[].", key));
    }
    return values;
  }

  /** The text called {@code key} of the broker. */
  public String broker(String key) {
    return text(root.get("broker"), "broker.", key);
  }

  /** TCP port of every node's health socket; 0 when the lab has none. */
  int healthPort() {
    return root.get("health_port") instanceof Integer port ? port : 0;
  }

  /** The node that drives, if the file names it. */
  Optional<Server> client() {
    return root.get("client") instanceof Map<?, ?> client
        ? Optional.of(server(client, "client.", List.of()))
        : Optional.empty();
  }

  /** The nodes that serve {@code trial}: the broker and its workers, as far as it needs them. */
  List<Server> servers(PlannedTrial trial) {
    List<Server> servers = new ArrayList<>();
    Set<String> found = new HashSet<>();
    if (root.get("broker") instanceof Map<?, ?> broker) {
      add(broker, "broker.", trial, servers, found);
    }
    if (!found.containsAll(trial.needs())) {
      List<?> workers = root.get("workers") instanceof List<?> list ? list : List.of();
      if (trial.servers() > workers.size()) {
        workers(trial.servers(), "name"); // says so
      }
      for (Object worker : workers.subList(0, trial.servers())) {
        add((Map<?, ?>) worker, "workers[].", trial, servers, found);
      }
    }
    List<String> missing = new ArrayList<>(trial.needs());
    missing.removeAll(found);
    if (!missing.isEmpty()) {
      throw new BadInput(
          "%s: no node has the service %s that trial %s needs; correct 'needs' in the study file or provision the client node again"
              .formatted(file, missing.get(0), trial.id()));
    }
    return servers;
  }

  private void add(
      Map<?, ?> node, String where, PlannedTrial trial, List<Server> servers, Set<String> found) {
    List<?> offered = node.get("services") instanceof List<?> list ? list : List.of();
    List<String> used = trial.needs().stream().filter(offered::contains).toList();
    if (!used.isEmpty()) {
      servers.add(server(node, where, used));
      found.addAll(used);
    }
  }

  private Server server(Map<?, ?> node, String where, List<String> services) {
    return new Server(text(node, where, "name"), text(node, where, "address"), services);
  }

  private String text(Object holder, String where, String key) {
    if (holder instanceof Map<?, ?> map && map.get(key) != null) {
      return map.get(key).toString();
    }
    throw new BadInput(
        "%s: %s%s is missing; provision the client node again".formatted(file, where, key));
  }
}
