package org.rackbench.harness.runner;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.Utc;

/**
 * Asks for the restart of services that run but do not answer. The runner asks while no trial runs,
 * after the service has been silent for a while. The node itself decides whether the service hangs
 * (role {@code health}).
 */
final class Restarts {

  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** Longer than the node needs to decide. */
  private static final long AGAIN_NANOS = TimeUnit.SECONDS.toNanos(30);

  private final Health health;
  private final Map<String, Long> nextRequest = new HashMap<>();
  private final Map<String, Object> asked = new HashMap<>();
  private final List<Map<String, Object>> made = new ArrayList<>();

  Restarts(Health health) {
    this.health = health;
  }

  /**
   * Asks for the restart of each service that has been silent for {@link #PATIENCE_NANOS}, in all
   * looks up to {@code look}.
   */
  void consider(Look look) {
    note(look);
    nextRequest.keySet().retainAll(look.silent().keySet());
    long now = System.nanoTime();
    look.silent()
        .forEach(
            (subject, service) -> {
              long due = nextRequest.computeIfAbsent(subject, name -> now + PATIENCE_NANOS);
              if (now - due >= 0) {
                nextRequest.put(subject, now + AGAIN_NANOS);
                asked.put(subject, service.invocation());
                System.out.println("asked for a restart: " + subject);
                health.askForRestart(service.server(), service.name());
              }
            });
  }

  private void note(Look look) {
    asked
        .entrySet()
        .removeIf(
            request -> {
              Object invocation = look.invocation(request.getKey());
              boolean restarted = invocation != null && !invocation.equals(request.getValue());
              if (restarted) {
                System.out.println("restarted: " + request.getKey());
                made.add(Json.of("at", Utc.now(), "service", request.getKey()));
              }
              return restarted;
            });
  }

  /**
   * Returns the restarts since the last call of this method: {@code at} in UTC and {@code service
   * on node}.
   */
  List<Map<String, Object>> take() {
    List<Map<String, Object>> taken = List.copyOf(made);
    made.clear();
    return taken;
  }
}
