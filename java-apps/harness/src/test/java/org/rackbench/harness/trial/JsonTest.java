package org.rackbench.harness.trial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files and texts that hold no JSON object, as a client may leave them. */
class JsonTest {

  @TempDir Path directory;

  @ParameterizedTest
  @ValueSource(strings = {"", "null", "7", "[1]", "{\"a\": 1"})
  void aTextWithoutOneObjectIsRefusedByItsPlace(String text) {
    String said = assertThrows(BadInput.class, () -> Json.parse(text, "plan.jsonl:3")).getMessage();
    assertTrue(said.startsWith("plan.jsonl:3: not a JSON object ("), said);
  }

  @Test
  void aFileInAnotherEncodingIsRefusedByItsName() throws IOException {
    Path file = directory.resolve("result.json");
    Files.write(file, "{\"text\": \"größer\"}".getBytes(StandardCharsets.ISO_8859_1));
    String said = assertThrows(BadInput.class, () -> Json.read(file)).getMessage();
    assertEquals(file + ": not a JSON object (it is not in UTF-8)", said);
  }
}
