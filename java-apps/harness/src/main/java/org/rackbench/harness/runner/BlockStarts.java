package org.rackbench.harness.runner;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
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

  /**
   * The file next to the runs that names the run that used the services last. No name of a run
   * begins with a dot.
   */
  private static final String LAST_RUN = ".last-run";

  private static final String STARTS = "starts.json";

  private final Path file;

  /** Systemd's ids by {@code service on node}, by number of the block. */
  private final Map<String, Map<String, List<Object>>> blocks = new LinkedHashMap<>();

  private BlockStarts(Path file) {
    this.file = file;
  }

  /**
   * Records that {@code run} uses the services from now on. Unless it was the last one to use them,
   * no start belongs to a block of {@code run} alone, so its earlier starts are removed.
   */
  static void use(Path run) throws IOException {
    Path last = run.resolveSibling(LAST_RUN);
    byte[] name = (run.getFileName() + "\n").getBytes(UTF_8);
    if (Files.exists(last) && Arrays.equals(Files.readAllBytes(last), name)) {
      return;
    }
    // In this order: killed in between, the next runner must not keep the starts either.
    Files.deleteIfExists(run.resolve(STARTS));
    Durable.sync(run);
    Durable.replace(last, name);
  }

  static BlockStarts of(Path run) throws IOException {
    BlockStarts starts = new BlockStarts(run.resolve(STARTS));
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
