package org.rackbench.harness.runner;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/**
 * How the nodes of a trial were at one moment, in the words of their health sockets (schema 1, see
 * the role {@code health}).
 */
final class Look {

  /** How a JVM ends under ExitOnOutOfMemoryError; the kernel's own end of it is a result. */
  private static final String MEMORY_STATUS = "exited 3";

  private static final String MEMORY_RESULT = "oom-kill";

  /**
   * What keeps a trial from starting.
   *
   * @param subject node or {@code service on node}: the same as long as it stays away
   */
  record Problem(String subject, String text) {}

  /** A service that runs on its node but does not answer. */
  record Silent(ServingNode server, String name, Object invocation) {}

  /** How a service that a trial needs is; {@code invocation} is null when it is not started. */
  private record Service(String name, Object state, Object invocation, int ends, Map<?, ?> ended) {

    boolean ranOutOfMemory() {
      return end().endsWith(MEMORY_STATUS) || MEMORY_RESULT.equals(ended.get("result"));
    }

    String end() {
      return "%s %s %s".formatted(ended.get("result"), ended.get("code"), ended.get("status"));
    }
  }

  private final long began = System.nanoTime();
  private final int freeMegabytes;
  private boolean isServed = true;
  private final List<Problem> problems = new ArrayList<>();
  private final List<String> unreachable = new ArrayList<>();
  private final Map<String, Service> services = new LinkedHashMap<>();
  private final Map<String, Silent> silent = new LinkedHashMap<>();
  private final Map<String, Map<?, ?>> machines = new LinkedHashMap<>();
  private final Map<String, Map<String, Object>> reports = new LinkedHashMap<>();

  Look(int freeMegabytes) {
    this.freeMegabytes = freeMegabytes;
  }

  /** When the look began, in the nanoseconds of this JVM. */
  long began() {
    return began;
  }

  void problem(String subject, String text) {
    problems.add(new Problem(subject, text));
  }

  void client(String name, Map<String, Object> report) {
    reports.put(name, report);
    machines.put(name, object(report.get("machine")));
  }

  void unreachable(ServingNode server, String reason) {
    unreachable.add(server.name());
    reports.put(server.name(), Map.of());
    isServed = false;
    problem(
        server.name(),
        "%s (%s) does not answer: %s".formatted(server.name(), server.address(), reason));
  }

  /** The sweep goes on without {@code server}, whatever it would answer. */
  void leftOut(ServingNode server) {
    isServed = false;
    problem(server.name(), server.name() + " is left out of this sweep");
  }

  void server(ServingNode server, Map<String, Object> report) {
    reports.put(server.name(), report);
    machines.put(server.name(), object(report.get("machine")));
    if (report.get("disk_free_mb") instanceof Integer free && free < freeMegabytes) {
      problem(
          server.name(),
          "%s has %d MiB free, %d are asked for".formatted(server.name(), free, freeMegabytes));
    }
    for (String name : server.services()) {
      String subject = name + " on " + server.name();
      Map<?, ?> found = object(object(report.get("services")).get(name));
      Service service =
          new Service(
              subject,
              found.get("state"),
              found.get("invocation"),
              found.get("ends") instanceof Integer ends ? ends : 0,
              object(found.get("ended")));
      services.put(subject, service);
      isServed &= "up".equals(service.state);
      if (service.state == null) {
        problem(subject, subject + " is not installed; provision the node again");
      } else if (!service.state.equals("up")) {
        problem(subject, "%s is %s".formatted(subject, service.state));
      }
      if ("silent".equals(service.state)) {
        silent.put(subject, new Silent(server, name, service.invocation));
      }
    }
  }

  /** What keeps the trial from starting, or null. */
  Problem problem() {
    return problems.isEmpty() ? null : problems.get(0);
  }

  /** Whether one of these nodes or services on nodes keeps the trial from starting. */
  boolean isHinderedBy(Set<String> subjects) {
    return problems.stream().anyMatch(problem -> subjects.contains(problem.subject));
  }

  /** Whether every service that the trial needs answers, whatever else is the matter. */
  boolean isServed() {
    return isServed;
  }

  /** What each node that was asked said, by its name; empty when it did not answer. */
  Map<String, Map<String, Object>> reports() {
    return reports;
  }

  /** The services that are started but do not answer, by {@code service on node}. */
  Map<String, Silent> silent() {
    return silent;
  }

  /** systemd's id of the start of a {@code service on node}; null when it is not known. */
  Object invocation(String subject) {
    return services.containsKey(subject) ? services.get(subject).invocation : null;
  }

  /** Whether {@code subject}, a node or a {@code service on node}, was looked at and is well. */
  boolean isWell(String subject) {
    boolean seen = machines.containsKey(subject) || services.containsKey(subject);
    return seen && problems.stream().noneMatch(problem -> problem.subject.equals(subject));
  }

  /**
   * What this look misses of what was at work {@code before}, in a sentence, or "". A service that
   * runs on but does not answer is not missed: it may have much to do still.
   */
  String missed(Look before) {
    List<String> missed = new ArrayList<>();
    unreachable.forEach(name -> missed.add(name + " does not answer"));
    ended(before)
        .forEach(service -> missed.add("%s ended (%s)".formatted(service.name, service.end())));
    return String.join(", ", missed);
  }

  /** Which service ran out of memory since {@code before}, in a sentence, or "". */
  String memory(Look before) {
    return ended(before)
        .filter(service -> service.ends > before.services.get(service.name).ends)
        .filter(Service::ranOutOfMemory)
        .map(service -> "%s ran out of memory (%s)".formatted(service.name, service.end()))
        .findFirst()
        .orElse("");
  }

  private Stream<Service> ended(Look before) {
    return services.values().stream()
        .filter(service -> before.services.containsKey(service.name))
        .filter(
            service ->
                !Objects.equals(service.invocation, before.services.get(service.name).invocation));
  }

  /** What disturbed each machine between {@code before} and this look; see {@link Interference}. */
  Map<String, Object> interference(Look before) {
    Map<String, Object> found = new LinkedHashMap<>();
    machines.forEach(
        (name, machine) -> {
          if (before.machines.containsKey(name)) {
            found.put(name, Interference.between(before.machines.get(name), machine));
          }
        });
    return found;
  }

  /** {@code value} where it is an object of JSON, else an empty one. */
  static Map<?, ?> object(Object value) {
    return value instanceof Map<?, ?> map ? map : Map.of();
  }
}
