package org.rackbench.harness;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

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

  private String text(Object holder, String where, String key) {
    if (holder instanceof Map<?, ?> map && map.get(key) != null) {
      return map.get(key).toString();
    }
    throw new BadInput(
        "%s: %s%s is missing; provision the client node again".formatted(file, where, key));
  }
}
