package org.rackbench.harness;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests which packages of the harness may import which: {@code runner} imports the others, {@code
 * program} imports {@code trial}, and never the reverse. The interface of clients is a module of
 * its own.
 */
class PackagesTest {

  private static final Path SOURCES = Path.of("src/main/java/org/rackbench/harness");

  @ParameterizedTest
  @CsvSource({"trial, runner", "trial, program", "program, runner"})
  void doesNotKnow(String one, String other) throws IOException {
    List<Path> files;
    try (Stream<Path> walk = Files.walk(SOURCES.resolve(one))) {
      files = walk.filter(Files::isRegularFile).toList();
    }
    assertFalse(files.isEmpty());
    for (Path file : files) {
      assertTrue(
          !Files.readString(file).contains("org.rackbench.harness." + other),
          () -> file + " names the package " + other);
    }
  }
}
