package org.rackbench.harness.runner;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import org.rackbench.harness.trial.BadInput;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.PlannedTrial;

/** A JDK of this node for the JVMs of trials. */
record Jdk(Path home) {

  /** Returns the JDK of the runner itself. */
  static Jdk own() {
    return new Jdk(Path.of(System.getProperty("java.home")));
  }

  /**
   * Returns the JDK that a trial needs; throws {@link BadInput} if it is not installed.
   *
   * @param others path of another JDK, without the release at the end
   */
  static Jdk of(PlannedTrial trial, String others) {
    int release = trial.jdk();
    if (release == 0 || release == Runtime.version().feature()) {
      return own();
    }
    Jdk other = new Jdk(Path.of(others + release));
    if (!Files.isExecutable(other.java())) {
      throw new BadInput(
          ("%s: this node has no JDK %d, which trial %s needs; add it to jdk_others of the"
                  + " inventory and run site.yml")
              .formatted(other.java(), release, trial.id()));
    }
    return other;
  }

  Path java() {
    return home.resolve("bin/java");
  }

  /** Returns its version and vendor as its JVMs report them, as far as they are known. */
  Map<String, Object> told() throws IOException {
    if (equals(own())) {
      return Json.of(
          "version", System.getProperty("java.runtime.version"),
          "vendor", System.getProperty("java.vendor"));
    }
    Properties release = new Properties();
    Path file = home.toRealPath().resolve("release");
    if (Files.exists(file)) {
      try (Reader reader = Files.newBufferedReader(file)) {
        release.load(reader);
      }
    }
    Map<String, Object> told = Json.of();
    String version = release.getProperty("JAVA_VERSION");
    put(told, "version", release.getProperty("JAVA_RUNTIME_VERSION", version));
    put(told, "vendor", release.getProperty("IMPLEMENTOR"));
    return told;
  }

  private static void put(Map<String, Object> told, String name, String quoted) {
    if (quoted != null) {
      told.put(name, quoted.replace("\"", ""));
    }
  }
}
