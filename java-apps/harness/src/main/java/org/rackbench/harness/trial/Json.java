package org.rackbench.harness.trial;

import com.fasterxml.jackson.jr.ob.JSON;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/** JSON objects as ordered maps of plain Java values. */
public final class Json {

  private Json() {}

  /**
   * Returns the object of a text; throws {@link BadInput} if it is another value or no JSON.
   *
   * @param where file:line, with which the message about an error begins
   */
  public static Map<String, Object> parse(String text, String where) {
    Map<String, Object> object;
    try {
      object = JSON.std.mapFrom(text);
    } catch (IOException e) {
      throw noObject(where, String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
    }
    if (object == null) {
      throw noObject(where, "null");
    }
    return object;
  }

  /** Returns the object of a file; throws {@link BadInput} if there is no file or no object. */
  public static Map<String, Object> read(Path file) throws IOException {
    try {
      return parse(Files.readString(file), file.toString());
    } catch (NoSuchFileException e) {
      throw new BadInput(file + ": no such file");
    } catch (CharacterCodingException e) {
      throw noObject(file.toString(), "it is not in UTF-8");
    }
  }

  private static BadInput noObject(String where, String reason) {
    return new BadInput("%s: not a JSON object (%s)".formatted(where, reason));
  }

  /** Returns an object as one line of UTF-8, with its line end. */
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
