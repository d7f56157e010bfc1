package org.rackbench.harness.runner;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.rackbench.harness.trial.Durable;
import org.rackbench.harness.trial.Json;

/**
 * {@code starts.json}: which starts of the services were made and warmed for which block. A runner
 * that resumes the run reads it; the proof is in the sealed trials.
 */
final class BlockStarts {

  private final Path file;

  /** Systemd's ids by {@code service on node}, by number of the block. */
  private final Map<String, Map<String, List<Object>>> blocks = new LinkedHashMap<>();

  private BlockStarts(Path file) {
    this.file = file;
  }

  static BlockStarts of(Path run) throws IOException {
    BlockStarts starts = new BlockStarts(run.resolve("starts.json"));
    if (Files.exists(starts.file)) {
      Look.object(Json.read(starts.file).get("blocks"))
          .forEach(
              (block, services) ->
                  Look.object(services)
                      .forEach((service, ids) -> starts.of(block, service).addAll((List<?>) ids)));
    }
    return starts;
  }

  /** Returns whether this start of the service was made and warmed for the block. */
  boolean isReady(int block, String service, Object id) {
    return of(block, service).contains(id);
  }

  /**
   * Returns whether the service must be restarted for the block. A service that the block has
   * already used and that has restarted by itself need not be: that start also belongs to the block
   * alone.
   */
  boolean isDue(int block, String service, Object id) {
    return !isReady(block, service, id)
        && (of(block, service).isEmpty()
            || blocks.values().stream().anyMatch(services -> holds(services.get(service), id)));
  }

  /** Records these starts, by {@code service on node}, as made and warmed for the block. */
  void add(int block, Map<String, Object> ids) throws IOException {
    ids.forEach((service, id) -> of(block, service).add(id));
    Durable.replace(file, Json.bytes(Json.of("schema", 1, "blocks", blocks)));
  }

  private List<Object> of(Object block, Object service) {
    return blocks
        .computeIfAbsent(block.toString(), number -> new LinkedHashMap<>())
        .computeIfAbsent(service.toString(), name -> new ArrayList<>());
  }

  private static boolean holds(List<Object> ids, Object id) {
    return ids != null && ids.contains(id);
  }
}
