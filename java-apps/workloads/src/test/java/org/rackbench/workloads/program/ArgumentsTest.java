package org.rackbench.workloads.program;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class ArgumentsTest {

  private static Arguments parse(String line) {
    return Arguments.parse(line.split(" "), "--port", "--name");
  }

  private static String refusal(Executable parse) {
    return assertThrows(IllegalArgumentException.class, parse).getMessage();
  }

  @Test
  void readsPairsAndDefaults() {
    Arguments arguments = parse("--port 9100 --name n");
    assertEquals(9100, arguments.number("--port", 65535));
    assertEquals("n", arguments.text("--name"));
    assertEquals("x", parse("--port 1").text("--name", "x"));
    assertEquals(7, parse("--name n").number("--port", 7, 65535));
  }

  @Test
  void namesWhatIsWrong() {
    assertEquals("--prt: unknown option or no value for it", refusal(() -> parse("--prt 1")));
    assertEquals("--port: unknown option or no value for it", refusal(() -> parse("--port")));
    assertEquals("--port is given twice; leave one out", refusal(() -> parse("--port 1 --port 2")));
    assertEquals("--name is missing", refusal(() -> parse("--port 1").text("--name")));
    for (String bad : new String[] {"0", "65536", "x", "-1", "99999999999"}) {
      assertEquals(
          "--port: '%s' is not a whole number within 1 to 65535".formatted(bad),
          refusal(() -> parse("--port " + bad).number("--port", 65535)));
    }
  }
}
