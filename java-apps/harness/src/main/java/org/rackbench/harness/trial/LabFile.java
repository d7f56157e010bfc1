package org.rackbench.harness.trial;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.rackbench.harness.api.Lab;

/**
 * The lab as {@code lab.json}, schema 1, describes it. Unknown keys are ignored.
 *
 * <p>{@code groups} names the nodes of each group in order; {@code endpoints} has the values that
 * the services of each node declare, by the name of the node. Older files have these values in
 * {@code broker} and {@code workers} themselves, with {@code services} as a list of names.
 */
public final class LabFile implements Lab {

  private static final String BROKER = "broker";
  private static final String WORKERS = "workers";

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
   * Returns the same lab with its list of workers rotated: the first worker is the one {@code
   * shift} places after this lab's.
   */
  public LabFile shifted(int shift) {
    boolean hasGroups = root.get("groups") instanceof Map<?, ?>;
    Map<String, Object> holder = hasGroups ? object(root.get("groups")) : new LinkedHashMap<>(root);
    if (shift == 0 || !(holder.get(WORKERS) instanceof List<?> list)) {
      return this;
    }
    List<Object> workers = new ArrayList<>(list);
    Collections.rotate(workers, -shift);
    holder.put(WORKERS, workers);
    Map<String, Object> other = new LinkedHashMap<>(root);
    other.putAll(hasGroups ? Map.of("groups", holder) : holder);
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
    List<Map<String, Object>> brokers = nodes(BROKER);
    return text(brokers.isEmpty() ? null : brokers.get(0), "broker.", key);
  }

  /** Returns the names of the groups whose nodes serve, those of broker and workers first. */
  public List<String> groups() {
    Set<String> names = new LinkedHashSet<>(List.of(BROKER, WORKERS));
    names.addAll(object(root.get("groups")).keySet());
    return List.copyOf(names);
  }

  /**
   * Returns the entry of each node of a group, in order; throws {@link BadInput} for a name without
   * an endpoint.
   */
  public List<Map<String, Object>> nodes(String group) {
    Map<String, Object> groups = object(root.get("groups"));
    Map<String, Object> endpoints = object(root.get("endpoints"));
    Object held = groups.isEmpty() ? root.get(group) : groups.get(group);
    List<Map<String, Object>> nodes = new ArrayList<>();
    for (Object node : held instanceof List<?> list ? list : Collections.singletonList(held)) {
      if (node instanceof String name && !(endpoints.get(name) instanceof Map<?, ?>)) {
        throw new BadInput(
            "%s: endpoints.%s is missing; provision the client node again".formatted(file, name));
      }
      if (node != null) {
        nodes.add(object(node instanceof String name ? endpoints.get(name) : node));
      }
    }
    return nodes;
  }

  /** Returns the names of the services that a node offers as one of this group. */
  public static List<String> services(String group, Map<String, Object> node) {
    if (node.get("services") instanceof List<?> names) {
      return names.stream().map(Object::toString).toList();
    }
    return object(node.get("services")).entrySet().stream()
        .filter(service -> group.equals(object(service.getValue()).get("group")))
        .map(Map.Entry::getKey)
        .toList();
  }

  /**
   * Returns the entry of each serving node, by its name, and of each service, by its name, as the
   * first node of its group offers it. If a node and a service share a name, the entry is the
   * node's.
   */
  public Map<String, Object> endpoints() {
    Map<String, Object> endpoints = new LinkedHashMap<>();
    Map<String, Object> services = new LinkedHashMap<>();
    for (String group : groups()) {
      for (Map<String, Object> node : nodes(group)) {
        if (node.get("name") != null) {
          endpoints.put(node.get("name").toString(), endpoint(node));
        }
        for (String name : services(group, node)) {
          services.putIfAbsent(name, service(name, node));
        }
      }
    }
    services.forEach(endpoints::putIfAbsent);
    return endpoints;
  }

  /** Returns a service with its node's name and address and with the values that it declares. */
  private static Map<String, Object> service(String name, Map<String, Object> node) {
    Map<String, Object> service = new LinkedHashMap<>();
    service.put("node", node.get("name"));
    service.put("address", node.get("address"));
    service.putAll(object(object(node.get("services")).get(name)));
    return service;
  }

  private static Map<String, Object> endpoint(Map<String, Object> node) {
    Map<String, Object> endpoint = new LinkedHashMap<>(node);
    if (endpoint.get("services") instanceof List<?>) {
      endpoint.remove("services");
    }
    if (endpoint.get("axis_url") != null) {
      endpoint.putIfAbsent("url", endpoint.get("axis_url"));
    }
    return endpoint;
  }

  /** Returns the entries of the first {@code count} workers, or of all if there are fewer. */
  public List<Object> workerEndpoints(int count) {
    List<Object> endpoints = new ArrayList<>();
    nodes(WORKERS).stream().limit(count).map(LabFile::endpoint).forEach(endpoints::add);
    return endpoints;
  }

  /** Returns the first {@code count} workers; throws {@link BadInput} if there are fewer. */
  public List<Map<String, Object>> workers(int count) {
    List<Map<String, Object>> workers = nodes(WORKERS);
    if (count < 1 || count > workers.size()) {
      throw new BadInput(
          "%s: the trial needs %d workers, and the lab has %d; lower the level or add workers"
              .formatted(file, count, workers.size()));
    }
    return workers.subList(0, count);
  }

  /** Returns the value of a key of the whole file, or null. */
  public Object value(String key) {
    return root.get(key);
  }

  /**
   * Returns the text {@code key} of {@code holder}; throws {@link BadInput} if it is missing.
   *
   * @param where name of the holder in messages, with the dot that follows it
   */
  public String text(Object holder, String where, String key) {
    if (holder instanceof Map<?, ?> map && map.get(key) != null) {
      return map.get(key).toString();
    }
    throw new BadInput(
        "%s: %s%s is missing; provision the client node again".formatted(file, where, key));
  }

  private static Map<String, Object> object(Object value) {
    Map<String, Object> object = new LinkedHashMap<>();
    if (value instanceof Map<?, ?> map) {
      map.forEach((key, one) -> object.put(key.toString(), one));
    }
    return object;
  }

  /** Returns the path of the file, for messages. */
  @Override
  public String toString() {
    return file.toString();
  }
}
