package org.rackbench.harness.runner;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.rackbench.harness.trial.JvmProfiler;
import org.rackbench.harness.trial.PlannedTrial;
import org.rackbench.harness.trial.ProfileFile;

/**
 * Profiles of the JVMs of a trial that never counts: its services, by a request to their nodes, and
 * its own JVM. A missing profile is a gap with its reason, never a fault of the trial.
 */
final class Profiles implements Observer {

  private static final String START = "start";
  private static final String STOP = "stop";

  private final ServingNodes nodes;
  private final Health health;

  Profiles(ServingNodes nodes, Health health) {
    this.nodes = nodes;
    this.health = health;
  }

  /** Starts the profiler in the services if the trial is profiled. */
  @Override
  public void before(Observation attempt) throws IOException {
    if (attempt.trial().isProfiled()) {
      ask(START, attempt.lookBefore());
    }
  }

  /** Stops the profiler, keeps the profiles with the trial and contributes a record of each JVM. */
  @Override
  public Map<String, Object> after(Observation attempt) throws IOException {
    return attempt.trial().isProfiled()
        ? Map.of(
            "profiles",
            stop(
                attempt.trial(),
                attempt.lookBefore(),
                attempt.directory(),
                attempt.record().profile()))
        : Map.of();
  }

  /**
   * Stops the profiler and keeps the profiles in {@code attempt}.
   *
   * @param ofClient the trial's JVM's record of its own profile; null if it left no result
   */
  private List<Map<String, Object>> stop(
      PlannedTrial trial, Look before, Path attempt, Map<?, ?> ofClient) throws IOException {
    List<Map<String, Object>> found = new ArrayList<>();
    String client = nodes.client().map(ServingNode::name).orElse("client");
    Map<String, Object> own = entry(client, trial.client(), "client", ofClient);
    takeOwn(attempt, own);
    found.add(own);
    for (Map.Entry<ServingNode, Map<?, ?>> answer : ask(STOP, before).entrySet()) {
      String node = answer.getKey().name();
      for (Object service : before.starts().get(answer.getKey()).keySet()) {
        Map<?, ?> said = Look.object(answer.getValue().get(service));
        Map<String, Object> entry = entry(node, service.toString(), "service", said);
        keep(said, attempt, entry);
        found.add(entry);
      }
    }
    return found;
  }

  /** Asks all nodes in parallel. */
  private Map<ServingNode, Map<?, ?>> ask(String action, Look before) throws IOException {
    Map<ServingNode, CompletableFuture<Map<?, ?>>> asked = new LinkedHashMap<>();
    for (Map.Entry<ServingNode, Map<String, Object>> one : before.starts().entrySet()) {
      asked.put(
          one.getKey(),
          health.profile(one.getKey(), action, one.getValue(), nodes.readRestartPassword()));
    }
    Map<ServingNode, Map<?, ?>> answers = new LinkedHashMap<>();
    asked.forEach((node, answer) -> answers.put(node, answer.join()));
    return answers;
  }

  private static Map<String, Object> entry(String node, String service, String role, Map<?, ?> of) {
    Map<String, Object> entry = new LinkedHashMap<>();
    entry.put("node", node);
    entry.put("service", service);
    entry.put("role", role);
    entry.put("event", of == null ? null : of.get("event"));
    entry.put("interval_ns", of == null ? null : of.get("interval_ns"));
    entry.put(
        "missing",
        of == null || of.get("missing") == null
            ? "its profiler gave no answer"
            : of.get("missing"));
    return entry;
  }

  /** Keeps the profile of the trial's JVM, and removes one that it did not finish. */
  private static void takeOwn(Path attempt, Map<String, Object> own) throws IOException {
    for (ProfileFile kind : ProfileFile.values()) {
      Path left = attempt.resolve(JvmProfiler.NAME + kind.suffix());
      if (!own.get("missing").equals("")) {
        Files.deleteIfExists(left);
      } else if (Files.exists(left)) {
        Files.move(left, target(attempt, own, kind));
        note(attempt, own, kind);
      }
    }
  }

  /** Keeps a service's files from the answer of its node. */
  private static void keep(Map<?, ?> said, Path attempt, Map<String, Object> entry)
      throws IOException {
    for (ProfileFile kind : ProfileFile.values()) {
      if (said.get(kind.key()) instanceof String content) {
        try {
          Files.write(target(attempt, entry, kind), kind.bytes(content));
          note(attempt, entry, kind);
        } catch (IllegalArgumentException e) {
          entry.put("missing", "its %s is damaged: %s".formatted(kind.key(), e.getMessage()));
        }
      }
    }
  }

  private static void note(Path attempt, Map<String, Object> entry, ProfileFile kind)
      throws IOException {
    Path file = target(attempt, entry, kind);
    entry.put(kind.key(), file.getFileName().toString());
    entry.put(kind.key() + "_sha256", FileSeal.of(file).sha256());
  }

  private static Path target(Path attempt, Map<String, Object> entry, ProfileFile kind) {
    return attempt.resolve(entry.get("node") + "-" + entry.get("service") + kind.suffix());
  }
}
