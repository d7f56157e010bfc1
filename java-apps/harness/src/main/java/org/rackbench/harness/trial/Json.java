package org.rackbench.harness.trial;

import com.fasterxml.jackson.jr.ob.JSON;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/** JSON objects as ordered maps of plain Java values. */
public final class Json {

  private Json() {}

  public static Map<String, Object> parse(String text, String where) {
    try {
      return JSON.std.mapFrom(text);
    } catch (IOException e) {
      throw new BadInput(
          "%s: not a JSON object (%s)"
              .formatted(where, String.valueOf(e.getMessage()).lines().findFirst().orElse("")));
    }
  }

  public static Map<String, Object> read(Path file) throws IOException {
    try {
      return parse(Files.readString(file), file.toString());
    } catch (NoSuchFileException e) {
      throw new BadInput(file + ": no such file");
    }
  }

  public static byte[] bytes(Map<String, Object> object) throws IOException {
    return (JSON.std.with(JSON.Feature.WRITE_NULL_PROPERTIES).asString(object) + "\n")
        .getBytes(StandardCharsets.UTF_8);
  }

  /** Returns an object with these keys, each followed by its value, in this order. */
  public static Map<String, Object> of(Object... keysAndValues) {
    Map<String, Object> map = new LinkedHashMap<>();
    for (int i = 0; i < keysAndValues.length; i += 2) {
      map.put((String) keysAndValues[i], keysAndValues[i + 1]);
    }
    return map;
  }
}
