package org.rackbench.harness.runner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The JDK of the JVMs of trials. */
class RunnerJdkTest {

  private static final String RELEASE =
      """
      IMPLEMENTOR="Somebody"
      JAVA_RUNTIME_VERSION="99.0.1+7-Some"
      JAVA_VERSION="99.0.1"
      """;

  @TempDir private Path root;
  private Bench bench;

  @BeforeEach
  void makeBench() throws Exception {
    bench = new Bench(root);
  }

  /** Makes a JDK 99: the JDK of this test, started by a script that adds an option. */
  private void installAnother() throws IOException {
    Path java = Files.createDirectories(root.resolve("jdk-99/bin")).resolve("java");
    Path real = Path.of(System.getProperty("java.home"), "bin", "java");
    Files.writeString(java, "#!/bin/sh\nexec %s -Dother.jdk=99 \"$@\"\n".formatted(real));
    assertTrue(java.toFile().setExecutable(true));
    Files.writeString(root.resolve("jdk-99/release"), RELEASE);
  }

  private void plan(String id, String part, int jdk) throws IOException {
    bench.plan(id, part, Map.of("constants", Map.of("client_heap_mb", 32, "jdk", jdk)));
  }

  private Bench.Ended run() throws Exception {
    return bench.runner("--jdks", root.resolve("jdk-").toString());
  }

  private Map<?, ?> jvm(String id) throws IOException {
    return (Map<?, ?>) bench.trial(id).get("jvm");
  }

  @Test
  void aTrialIsOfTheJdkThatItAsksFor() throws Exception {
    installAnother();
    plan("t1", "ok", 99);
    plan("t2", "ok", Runtime.version().feature());
    bench.plan("t3", "ok");
    Bench.Ended runner = run();
    assertEquals(0, runner.status(), runner.output());
    String mark = "-Dother.jdk=99";
    assertTrue(((List<?>) jvm("t1").get("options")).contains(mark), jvm("t1").toString());
    assertFalse(((List<?>) jvm("t2").get("options")).contains(mark), jvm("t2").toString());
    assertFalse(((List<?>) jvm("t3").get("options")).contains(mark), jvm("t3").toString());
  }

  @Test
  void aJvmThatDoesNotStartIsRefusedBeforeTheFirstTrial() throws Exception {
    bench.plan("t1", "ok");
    bench.plan("t2", "ok", Map.of("constants", Map.of("jvm_options", List.of("-XX:NoSuch"))));
    Bench.Ended check = bench.check(Map.of());
    assertEquals(2, check.status(), check.output());
    assertTrue(check.output().startsWith("trial t2: its JVM does not start with"), check.output());
    assertTrue(check.output().contains("-XX:NoSuch: Unrecognized VM option"), check.output());
  }

  @Test
  void aHeapBeyondTheMemoryOfTheNodeIsRefusedBeforeTheFirstTrial() throws Exception {
    bench.plan("t1", "ok", Map.of("constants", Map.of("client_heap_mb", 1_000_000_000)));
    Bench.Ended check = bench.check(Map.of());
    assertEquals(2, check.status(), check.output());
    assertTrue(
        check.output().startsWith("trial t1: its heap of 1000000000 MiB exceeds the memory"),
        check.output());
  }

  @Test
  void theCheckStartsOneJvmForAllTrialsOfTheSameOptions() throws Exception {
    installAnother();
    Path java = root.resolve("jdk-99/bin/java");
    Path told = root.resolve("told");
    Files.writeString(java, "#!/bin/sh\necho \"$@\" >>%s\n".formatted(told));
    for (String id : List.of("t1", "t2", "t3")) {
      plan(id, "ok", 99);
    }
    Bench.Ended check = bench.check(Map.of(), "--jdks", root.resolve("jdk-").toString());
    assertEquals(0, check.status(), check.output());
    assertEquals(
        List.of("-Xmx32m -XX:+ExitOnOutOfMemoryError -XX:+PerfDisableSharedMem -version"),
        Files.readAllLines(told));
  }

  @Test
  void whatAJvmWithoutAResultWasOfIsReadFromItsJdk() throws Exception {
    installAnother();
    plan("t1", "end", 99);
    bench.plan("t2", "end");
    run();
    assertEquals("99.0.1+7-Some", jvm("t1").get("version"));
    assertEquals("Somebody", jvm("t1").get("vendor"));
    assertEquals(System.getProperty("java.runtime.version"), jvm("t2").get("version"));
  }

  @Test
  void aJdkThatIsNotInstalledIsRefusedBeforeTheFirstTrial() throws Exception {
    bench.plan("t1", "ok");
    plan("t2", "ok", 99);
    Bench.Ended runner = run();
    assertEquals(2, runner.status(), runner.output());
    assertTrue(
        runner.output().contains("no JDK 99, which trial t2 needs; add it to jdk_others"),
        runner.output());
    assertFalse(Files.exists(bench.sealed("t1")));
  }

  @Test
  void aConstantThatIsNoReleaseIsRefused() throws Exception {
    bench.plan("t1", "ok", Map.of("constants", Map.of("jdk", "newest")));
    Bench.Ended runner = run();
    assertEquals(2, runner.status(), runner.output());
    assertTrue(runner.output().contains("constants.jdk is newest; write the release"));
  }
}
