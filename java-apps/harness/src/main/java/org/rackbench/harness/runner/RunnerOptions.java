package org.rackbench.harness.runner;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.rackbench.harness.trial.BadInput;
import org.rackbench.harness.trial.PlannedTrial;

/**
 * The runner's command line.
 *
 * @param clients where the runner looks for the directories of clients
 * @param first id of the first trial to run, or null for the plan's first
 * @param last id of the last one, or null
 * @param group file that lists the ids to run, or null for all of them
 * @param retries how often the runner repeats a trial that a fault of the lab spoilt
 * @param lookSeconds time between two health checks of the servers while a trial runs
 * @param recoverSeconds longest wait for a node or service that does not answer
 * @param without names of nodes that are not used; trials that need them are deferred
 * @param until no trial starts after it; null: no limit
 * @param freeMegabytes free disk space that this node and the servers need before a trial, in MiB
 * @param jdks common beginning of the paths of other JDKs; each path ends with the release
 */
record RunnerOptions(
    Path run,
    Path lab,
    List<Path> clients,
    Path lock,
    String first,
    String last,
    Path group,
    int retries,
    int lookSeconds,
    int recoverSeconds,
    Set<String> without,
    Instant until,
    int freeMegabytes,
    String jdks) {

  private static final String USAGE =
      """
      usage: java -cp 'HARNESS/*' org.rackbench.harness.runner.Runner --run DIR --lab FILE --clients DIRS
                  [--lock FILE] [--first ID] [--last ID] | [--group FILE]
                  [--retries N] [--look SECONDS] [--recover SECONDS] [--without NAMES]
                  [--until INSTANT] [--free-mb N] [--jdks PREFIX]
        --run      directory of the run, with plan.jsonl in it
        --lab      lab.json, for the clients
        --clients  directories, joined by colons, with one directory for each client: of jars, or
                   with a manifest
        --lock     lock file of this node (default /run/rackbench/runner.lock)
        --first, --last  only the trials from one id to the other, in plan order
        --group    only the trials whose ids the file lists, one a line
        --retries  how often the runner repeats a trial that a fault of the lab spoilt (default 2)
        --look     seconds between two health checks of the servers while a trial runs; each may
                   disturb the calls a little (default 30)
        --recover  seconds to wait for a node or service that does not answer, before the trials
                   that need it are deferred (default 600)
        --without  names of nodes to skip, joined by commas; the trials that need them are
                   deferred
        --until    no trial starts after this time in UTC, such as 2026-03-02T06:00:00Z
                   (default: no limit)
        --free-mb  MiB that must be free here and on the servers before a trial (default 0)
        --jdks     where JDKs of other releases are; the release follows (default
                   /opt/rackbench/jdk-)
      exit status: 0 all trials are sealed, or SIGTERM stopped the runner; 2 bad input;
        3 a fault of this node; 4 some trials are deferred; 5 --until came first. The same command
        continues.""";

  private static final Set<String> NAMES =
      Set.of(
          "--run",
          "--lab",
          "--clients",
          "--lock",
          "--first",
          "--last",
          "--group",
          "--retries",
          "--look",
          "--recover",
          "--without",
          "--until",
          "--free-mb",
          "--jdks");

  /** Reads the command line; throws {@link BadInput} that shows the usage. */
  static RunnerOptions of(String[] args) {
    Map<String, String> given = new HashMap<>();
    for (int i = 0; i < args.length; i += 2) {
      if (!NAMES.contains(args[i]) || i + 1 == args.length) {
        throw bad(args[i] + ": unknown option or no value for it");
      }
      given.put(args[i], args[i + 1]);
    }
    for (String needed : List.of("--run", "--lab", "--clients")) {
      if (!given.containsKey(needed)) {
        throw bad(needed + " is missing");
      }
    }
    if (given.containsKey("--group")
        && (given.containsKey("--first") || given.containsKey("--last"))) {
      throw bad("--group excludes --first and --last");
    }
    String group = given.get("--group");
    return new RunnerOptions(
        path(given.get("--run")),
        path(given.get("--lab")),
        Stream.of(given.get("--clients").split(":")).map(RunnerOptions::path).toList(),
        path(given.getOrDefault("--lock", "/run/rackbench/runner.lock")),
        given.get("--first"),
        given.get("--last"),
        group == null ? null : path(group),
        whole(given, "--retries", 2),
        Math.max(1, whole(given, "--look", 30)),
        whole(given, "--recover", 600),
        Set.copyOf(List.of(given.getOrDefault("--without", "").split(","))),
        instant(given.get("--until")),
        whole(given, "--free-mb", 0),
        given.getOrDefault("--jdks", "/opt/rackbench/jdk-"));
  }

  /** Returns the JDK of a trial's JVM; throws {@link BadInput} if it is not installed. */
  Jdk jdk(PlannedTrial trial) {
    return Jdk.of(trial, jdks);
  }

  /** Returns the directory of a client; throws {@link BadInput} if there is none, or two. */
  Path client(PlannedTrial trial) {
    List<Path> found =
        clients.stream()
            .map(place -> place.resolve(trial.client()))
            .filter(Files::isDirectory)
            .toList();
    if (found.isEmpty()) {
      throw new BadInput(
          "%s: no such client directory (trial %s); deploy the clients to this node"
              .formatted(clients.get(0).resolve(trial.client()), trial.id()));
    } else if (found.size() > 1) {
      throw new BadInput(
          "%s and %s are clients of the same name; give the program another one"
              .formatted(found.get(0), found.get(1)));
    }
    return found.get(0);
  }

  private static Path path(String text) {
    return Path.of(text).toAbsolutePath().normalize();
  }

  private static int whole(Map<String, String> given, String name, int otherwise) {
    String text = given.getOrDefault(name, Integer.toString(otherwise));
    if (!text.matches("[0-9]{1,9}")) {
      throw bad("%s is '%s', not a whole number >= 0".formatted(name, text));
    }
    return Integer.parseInt(text);
  }

  private static Instant instant(String text) {
    try {
      return text == null ? null : Instant.parse(text);
    } catch (DateTimeParseException e) {
      throw bad("--until is '%s', not an instant like 2026-03-02T06:00:00Z".formatted(text));
    }
  }

  private static BadInput bad(String message) {
    return new BadInput(message + "\n" + USAGE);
  }
}
