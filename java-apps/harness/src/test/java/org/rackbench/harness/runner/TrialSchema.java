package org.rackbench.harness.runner;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.networknt.schema.InputFormat;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The schema of trial.json. Its reader has it, and the reader's tests use it too. */
final class TrialSchema {

  private static final Path FILE = Path.of("../../collect/run/trial.schema.json");

  private static final Schema SCHEMA = read();

  private TrialSchema() {}

  private static Schema read() {
    try {
      return SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
          .getSchema(Files.readString(FILE), InputFormat.JSON);
    } catch (IOException e) {
      throw new IllegalStateException(
          FILE + ": cannot be read; run the tests in a checkout, below java-apps/harness", e);
    }
  }

  /** Fails unless this trial.json conforms to the schema. */
  static void check(Path record) throws IOException {
    assertEquals(List.of(), SCHEMA.validate(Files.readString(record), InputFormat.JSON));
  }
}
