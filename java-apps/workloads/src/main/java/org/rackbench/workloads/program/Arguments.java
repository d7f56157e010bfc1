package org.rackbench.workloads.program;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** A command line of {@code --name value} pairs. The message of each exception is for the user. */
public final class Arguments {

  private final Map<String, String> given;

  private Arguments(Map<String, String> given) {
    this.given = given;
  }

  /**
   * Reads a command line. Throws IllegalArgumentException for a name that is not in {@code names},
   * appears twice or has no value.
   */
  public static Arguments parse(String[] args, String... names) {
    Set<String> known = Set.of(names);
    Map<String, String> given = new HashMap<>();
    for (int i = 0; i < args.length; i += 2) {
      if (!known.contains(args[i]) || i + 1 == args.length) {
        throw new IllegalArgumentException(args[i] + ": unknown option or no value for it");
      }
      if (given.put(args[i], args[i + 1]) != null) {
        throw new IllegalArgumentException(args[i] + " is given twice; leave one out");
      }
    }
    return new Arguments(given);
  }

  public String text(String name) {
    if (!given.containsKey(name)) {
      throw new IllegalArgumentException(name + " is missing");
    }
    return given.get(name);
  }

  public String text(String name, String otherwise) {
    return given.getOrDefault(name, otherwise);
  }

  /** Returns a whole number from 1 to {@code most}. */
  public int number(String name, int most) {
    return number(name, text(name), most);
  }

  public int number(String name, int otherwise, int most) {
    return number(name, text(name, Integer.toString(otherwise)), most);
  }

  private static int number(String name, String text, int most) {
    try {
      int number = Integer.parseInt(text.strip());
      if (number > 0 && number <= most) {
        return number;
      }
    } catch (NumberFormatException e) {
      // the message below reports it
    }
    throw new IllegalArgumentException(
        "%s: '%s' is not a whole number within 1 to %d".formatted(name, text, most));
  }
}
