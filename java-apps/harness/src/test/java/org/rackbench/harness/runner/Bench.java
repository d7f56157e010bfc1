package org.rackbench.harness.runner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import org.rackbench.harness.trial.Json;

/** A run directory, a client directory with {@link Puppet} in it, and real runner processes. */
final class Bench {

  static final String CLIENT = "puppet";

  /** The same value as in a sweep. */
  static final int RUNNER_HEAP_MB = 64;

  final Path root;
  final Path run;
  final Path lock;

  Bench(Path root) throws Exception {
    this.root = root;
    this.run = Files.createDirectories(root.resolve("runs/demo"));
    this.lock = root.resolve("runner.lock");
    Files.writeString(root.resolve("lab.json"), "{\"schema\":1,\"workers\":[]}");
    Path client = Files.createDirectories(root.resolve("clients/" + CLIENT));
    for (String entry : System.getProperty("java.class.path").split(":")) {
      Path path = Path.of(entry);
      if (entry.endsWith("test-classes") || entry.endsWith("target/classes")) {
        jar(path, client.resolve(module(path) + "-" + path.getFileName() + ".jar"));
      } else if (path.getFileName()
          .toString()
          .matches("(jackson-core-2|jackson-jr|harness-api).*jar")) {
        Files.copy(path, client.resolve(path.getFileName()));
      }
    }
  }

  /** Another run of the same node. */
  Bench(Bench first, String name) throws IOException {
    this.root = first.root;
    this.run = Files.createDirectories(first.run.resolveSibling(name));
    this.lock = first.lock;
  }

  /** Two modules have classes, each in MODULE/target/classes; a packaged one has a jar. */
  private static Path module(Path classes) {
    return classes.getParent().getParent().getFileName();
  }

  private static void jar(Path classes, Path jar) throws IOException {
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar));
        Stream<Path> files = Files.walk(classes)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        out.putNextEntry(new JarEntry(classes.relativize(file).toString()));
        Files.copy(file, out);
      }
    }
  }

  /** Appends a trial of two warm-up and five measured calls, in which the puppet plays a part. */
  void plan(String id, String part, Map<String, Object> more) throws IOException {
    Map<String, Object> line =
        Json.of(
            "schema",
            1,
            "id",
            id,
            "study",
            "test",
            "profile",
            "demo",
            "block",
            1,
            "position",
            1,
            "client",
            CLIENT,
            "factors",
            Map.of("part", part),
            "constants",
            new TreeMap<>(Map.of("client_heap_mb", 32, "call_timeout_s", 0.2)),
            "node",
            Map.of("link_mbit", 100),
            "calls",
            5,
            "warmup",
            2,
            "threads",
            1,
            "timeout_s",
            60,
            "seed",
            1L << 62);
    line.putAll(more);
    appendPlan(new String(Json.bytes(line)));
  }

  void plan(String id, String part) throws IOException {
    plan(id, part, Map.of());
  }

  void appendPlan(String text) throws IOException {
    Path plan = run.resolve("plan.jsonl");
    Files.writeString(plan, text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
  }

  /** The command of a runner over this run. */
  List<String> command(String... more) {
    return command(Runner.class, more);
  }

  private List<String> command(Class<?> program, String... more) {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx" + RUNNER_HEAP_MB + "m",
                "-cp",
                System.getProperty("java.class.path"),
                program.getName(),
                "--run",
                run.toString(),
                "--lab",
                root.resolve("lab.json").toString(),
                "--clients",
                root.resolve("clients").toString(),
                "--lock",
                lock.toString()));
    command.addAll(List.of(more));
    return command;
  }

  Process start(String... more) throws IOException {
    return start(command(more), Map.of());
  }

  private Process start(List<String> command, Map<String, String> environment) throws IOException {
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().putAll(environment);
    return builder
        .redirectErrorStream(true)
        .redirectOutput(root.resolve("runner.out").toFile())
        .start();
  }

  /** Runs the check of the plan, with these variables. */
  Ended check(Map<String, String> environment, String... more) throws Exception {
    return end(start(command(PlanCheck.class, more), environment));
  }

  /** Runs a runner to its end. */
  Ended runner(String... more) throws Exception {
    return end(start(more));
  }

  /** Runs a runner to its end, with these variables. */
  Ended runner(Map<String, String> environment) throws Exception {
    return end(start(command(), environment));
  }

  /**
   * Runs a runner to its end with a tmpfs of this size as the run directory, and copies the trials
   * to {@code kept}. Skips the test if user namespaces are forbidden.
   */
  Ended runnerOnDisk(String size, Path kept) throws Exception {
    List<String> command = new ArrayList<>(List.of("unshare", "--user", "--map-root-user"));
    command.addAll(List.of("--mount", "sh", "-c"));
    String mount = "mount -t tmpfs -o size=%s none '%s'".formatted(size, run);
    List<String> probe = new ArrayList<>(command);
    probe.add(mount);
    assumeTrue(
        new ProcessBuilder(probe).redirectErrorStream(true).start().waitFor() == 0,
        "no user namespaces here");
    command.add(
        ("cp '%1$s/plan.jsonl' '%2$s.plan'; %3$s && cp '%2$s.plan' '%1$s/plan.jsonl';"
                + " \"$@\"; status=$?; cp -r '%1$s/trials' '%2$s'; exit $status")
            .formatted(run, kept, mount));
    command.add("sh");
    command.addAll(command());
    return end(start(command, Map.of()));
  }

  Ended end(Process runner) throws Exception {
    assertTrue(runner.waitFor(2, TimeUnit.MINUTES), "the runner hangs");
    return new Ended(runner.exitValue(), Files.readString(root.resolve("runner.out")));
  }

  record Ended(int status, String output) {}

  Path sealed(String id) {
    return run.resolve("trials/" + id);
  }

  /** Returns trial.json of a sealed trial, which has the layout of its schema. */
  Map<String, Object> trial(String id) throws IOException {
    Path record = sealed(id).resolve("trial.json");
    TrialSchema.check(record);
    return Json.read(record);
  }

  Map<String, Object> state() throws IOException {
    return Json.read(run.resolve("state.json"));
  }

  /** Returns the rows of the measured calls. */
  List<String> measured(String id) throws IOException {
    return calls(id).stream().filter(row -> row.contains(",measure,")).toList();
  }

  List<String> calls(String id) throws IOException {
    return Files.readAllLines(sealed(id).resolve("calls.csv"));
  }

  /** Waits until the puppet of a trial reports that it is in a call; returns its JVM. */
  ProcessHandle puppet() throws Exception {
    Path said = root.resolve("puppet.pid");
    await(() -> Files.exists(said) && !Files.readString(said).isEmpty());
    long pid = Long.parseLong(Files.readString(said));
    Files.delete(said);
    return ProcessHandle.of(pid).orElseThrow();
  }

  static void await(Callable<Boolean> condition) throws Exception {
    long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
    while (!condition.call()) {
      assertTrue(System.nanoTime() < end, "waited in vain");
      Thread.sleep(20);
    }
  }

  /** Sends a signal that ProcessHandle cannot send; the shell has a kill of its own. */
  static void signal(String name, long pid) throws Exception {
    assertEquals(0, new ProcessBuilder("sh", "-c", "kill -" + name + " " + pid).start().waitFor());
  }
}
