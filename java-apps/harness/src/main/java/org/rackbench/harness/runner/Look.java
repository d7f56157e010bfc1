package org.rackbench.harness.runner;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A health check: the state of the nodes of a trial at one moment, as their health sockets report
 * it (schema 1, see the role {@code health}).
 */
final class Look {

  /**
   * The end of a JVM under ExitOnOutOfMemoryError. If the kernel ends a process because memory ran
   * out, the result is {@code oom-kill}.
   */
  private static final String MEMORY_STATUS = "exited 3";

  private static final String MEMORY_RESULT = "oom-kill";

  /**
   * A reason why a trial cannot start.
   *
   * @param subject the node or {@code service on node} that has the problem
   * @param text the reason in a sentence
   */
  record Problem(String subject, String text) {}

  /** A service that runs on its node but does not answer. */
  record Silent(ServingNode server, String name, Object invocation) {}

  /**
   * The processor time of a service's processes since its start.
   *
   * @param invocation systemd's id of that start
   * @param micros that time in microseconds, null if the node does not report it
   * @param at moment of the node's clock in nanoseconds, null if the node does not report it
   */
  record ProcessorTime(Object invocation, Long micros, Long at) {

    boolean isKnown() {
      return micros != null && at != null;
    }

    /** Returns the number of processors used since {@code before}; null if it is unknown. */
    Double coresSince(ProcessorTime before) {
      boolean isOfOneStart = before != null && Objects.equals(invocation, before.invocation);
      return isOfOneStart && isKnown() && before.isKnown() && at > before.at
          ? Double.valueOf((micros - before.micros) * 1e3 / (at - before.at))
          : null;
    }
  }

  /** The state of a service that a trial needs; {@code invocation} is null if it is not started. */
  private record Service(
      String name,
      Object state,
      Object invocation,
      int ends,
      Map<?, ?> ended,
      boolean hadProfiler,
      ProcessorTime used) {

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
  private final Map<ServingNode, Map<String, Object>> starts = new LinkedHashMap<>();
  private final Map<String, Map<?, ?>> machines = new LinkedHashMap<>();
  private final Map<String, Map<String, Object>> reports = new LinkedHashMap<>();

  Look(int freeMegabytes) {
    this.freeMegabytes = freeMegabytes;
  }

  /** Returns when the look began, in nanoseconds as of {@link System#nanoTime}. */
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

  /** Notes that the sweep does not use {@code server}. */
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
          "%s has %d MiB free, %d are needed".formatted(server.name(), free, freeMegabytes));
    }
    for (String name : server.services()) {
      String subject = subject(name, server);
      Map<?, ?> found = object(object(report.get("services")).get(name));
      Service service =
          new Service(
              subject,
              found.get("state"),
              found.get("invocation"),
              found.get("ends") instanceof Integer ends ? ends : 0,
              object(found.get("ended")),
              Boolean.TRUE.equals(found.get("profiled")),
              new ProcessorTime(
                  found.get("invocation"),
                  whole(found.get("cpu_us")),
                  whole(report.get("now_ns"))));
      services.put(subject, service);
      if (service.invocation != null) {
        starts.computeIfAbsent(server, node -> new LinkedHashMap<>()).put(name, service.invocation);
      }
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

  /** Returns a reason why the trial cannot start, or null. */
  Problem problem() {
    return problems.isEmpty() ? null : problems.get(0);
  }

  /** Returns whether one of these nodes, or services on nodes, keeps the trial from starting. */
  boolean isHinderedBy(Set<String> subjects) {
    return problems.stream().anyMatch(problem -> subjects.contains(problem.subject));
  }

  /**
   * Returns whether every service that the trial needs answers, whatever other problems there are.
   */
  boolean isServed() {
    return isServed;
  }

  /** Returns the report of each polled node, by its name; empty if the node did not answer. */
  Map<String, Map<String, Object>> reports() {
    return reports;
  }

  /** Returns the services that are started but do not answer, by {@code service on node}. */
  Map<String, Silent> silent() {
    return silent;
  }

  /** Returns systemd's id of the present start of each service, by its node and its name. */
  Map<ServingNode, Map<String, Object>> starts() {
    return starts;
  }

  /** Returns the same by {@code service on node}. */
  Map<String, Object> invocations() {
    Map<String, Object> found = new LinkedHashMap<>();
    starts.forEach(
        (server, ids) -> ids.forEach((name, id) -> found.put(subject(name, server), id)));
    return found;
  }

  /** Returns each {@code service on node} whose present start has had a profiler. */
  Set<String> profiled() {
    return services.values().stream()
        .filter(Service::hadProfiler)
        .map(Service::name)
        .collect(Collectors.toSet());
  }

  /**
   * Returns systemd's id of the present start of a {@code service on node}; null if it is unknown.
   */
  Object invocation(String subject) {
    return services.containsKey(subject) ? services.get(subject).invocation : null;
  }

  /** Returns the processor time of each started {@code service on node}. */
  Map<String, ProcessorTime> used() {
    Map<String, ProcessorTime> found = new LinkedHashMap<>();
    services.values().stream()
        .filter(service -> service.invocation != null)
        .forEach(service -> found.put(service.name, service.used));
    return found;
  }

  private static Long whole(Object value) {
    return value instanceof Number number ? Long.valueOf(number.longValue()) : null;
  }

  /**
   * Returns whether {@code subject}, a node or a {@code service on node}, was polled and has no
   * problem.
   */
  boolean isWell(String subject) {
    boolean seen = machines.containsKey(subject) || services.containsKey(subject);
    return seen && problems.stream().noneMatch(problem -> problem.subject.equals(subject));
  }

  /**
   * Returns a sentence with the nodes and services that worked in {@code before} and are gone now,
   * or "". A service that runs but does not answer is not gone: it may be busy with a long request.
   */
  String missed(Look before) {
    return Stream.of(away(), endedSince(before))
        .filter(text -> !text.isEmpty())
        .collect(Collectors.joining(", "));
  }

  /** Returns a sentence with the nodes that do not answer, or "". */
  String away() {
    return unreachable.stream()
        .map(name -> name + " does not answer")
        .collect(Collectors.joining(", "));
  }

  /** Returns a sentence with the services that have ended since {@code before}, or "". */
  String endedSince(Look before) {
    return ended(before)
        .map(service -> "%s ended (%s)".formatted(service.name, service.end()))
        .collect(Collectors.joining(", "));
  }

  /** Returns a sentence with the service that ran out of memory since {@code before}, or "". */
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

  /**
   * Returns the disturbances of each machine between {@code before} and this look; see {@link
   * Interference}.
   */
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

  /** Returns the name of a service of a node: {@code service on node}. */
  static String subject(String service, ServingNode server) {
    return service + " on " + server.name();
  }

  /** Returns {@code value} if it is a JSON object, else an empty one. */
  static Map<?, ?> object(Object value) {
    return value instanceof Map<?, ?> map ? map : Map.of();
  }
}
