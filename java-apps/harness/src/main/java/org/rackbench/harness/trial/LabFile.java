package org.rackbench.harness.trial;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.rackbench.harness.api.Lab;

/** The lab as {@code lab.json}, schema 1, describes it. Unknown keys are ignored. */
public final class LabFile implements Lab {

  private final Path file;
  private final Map<String, Object> root;

  private LabFile(Path file, Map<String, Object> root) {
    this.file = file;
    this.root = root;
  }

  /** Reads the file; throws {@link BadInput} when it is not a lab of schema 1. */
  public static LabFile read(Path file) throws IOException {
    Map<String, Object> root = Json.read(file);
    if (!Integer.valueOf(1).equals(root.get("schema"))) {
      throw new BadInput(
          file + ": schema is " + root.get("schema") + ", not 1; provision the client node again");
    }
    return new LabFile(file, root);
  }

  /**
   * Returns the lab whose first worker is the one {@code shift} places after this one's; the list
   * goes round.
   */
  public LabFile shifted(int shift) {
    if (shift == 0 || !(root.get("workers") instanceof List<?> list)) {
      return this;
    }
    List<Object> workers = new ArrayList<>(list);
    Collections.rotate(workers, -shift);
    Map<String, Object> other = new LinkedHashMap<>(root);
    other.put("workers", workers);
    return new LabFile(file, other);
  }

  @Override
  public List<String> workers(int count, String key) {
    List<String> values = new ArrayList<>();
    for (Object worker : workers(count)) {
      values.add(text(worker, "workers[].", key));
    }
    return values;
  }

  @Override
  public String broker(String key) {
    return text(root.get("broker"), "broker.", key);
  }

  /** Returns what is known of each node that serves, by its name. */
  public Map<String, Object> endpoints() {
    Map<String, Object> endpoints = new LinkedHashMap<>();
    if (root.get("endpoints") instanceof Map<?, ?> said) {
      said.forEach((name, endpoint) -> endpoints.put(name.toString(), endpoint));
    } else {
      addEndpoint(endpoints, root.get("broker"));
      if (root.get("workers") instanceof List<?> workers) {
        workers.forEach(worker -> addEndpoint(endpoints, worker));
      }
    }
    return endpoints;
  }

  private static void addEndpoint(Map<String, Object> endpoints, Object node) {
    if (node instanceof Map<?, ?> map && map.get("name") != null) {
      endpoints.put(map.get("name").toString(), endpoint(map));
    }
  }

  private static Map<String, Object> endpoint(Map<?, ?> node) {
    Map<String, Object> endpoint = new LinkedHashMap<>();
    node.forEach((key, value) -> endpoint.put(key.toString(), value));
    endpoint.remove("services");
    if (endpoint.get("axis_url") != null) {
      endpoint.putIfAbsent("url", endpoint.get("axis_url"));
    }
    return endpoint;
  }

  /** Returns what is known of the first {@code count} workers, or of as many as there are. */
  public List<Object> workerEndpoints(int count) {
    List<Object> endpoints = new ArrayList<>();
    for (Object worker : root.get("workers") instanceof List<?> list ? list : List.of()) {
      if (endpoints.size() < count && worker instanceof Map<?, ?> map) {
        endpoints.add(endpoint(map));
      }
    }
    return endpoints;
  }

  /** Returns the first {@code count} workers; throws {@link BadInput} when there are fewer. */
  public List<?> workers(int count) {
    List<?> workers = root.get("workers") instanceof List<?> list ? list : List.of();
    if (count < 1 || count > workers.size()) {
      throw new BadInput(
          "%s: %d workers asked for, %d there; lower the level or add workers"
              .formatted(file, count, workers.size()));
    }
    return workers.subList(0, count);
  }

  /** Returns the value of a key of the whole file, or null. */
  public Object value(String key) {
    return root.get(key);
  }

  /**
   * Returns the text called {@code key} of {@code holder}; throws {@link BadInput} without it.
   *
   * @param where how messages name the holder, with the dot that follows it
   */
  public String text(Object holder, String where, String key) {
    if (holder instanceof Map<?, ?> map && map.get(key) != null) {
      return map.get(key).toString();
    }
    throw new BadInput(
        "%s: %s%s is missing; provision the client node again".formatted(file, where, key));
  }

  /** Returns the path of the file, for messages. */
  @Override
  public String toString() {
    return file.toString();
  }
}
