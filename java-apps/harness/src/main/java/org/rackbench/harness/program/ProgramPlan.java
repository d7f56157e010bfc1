package org.rackbench.harness.program;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.rackbench.harness.trial.BadInput;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.LabFile;
import org.rackbench.harness.trial.PlannedTrial;

/**
 * A program's view of its trial: a JSON object in a file. The words of its command may name values
 * of that object.
 */
public final class ProgramPlan {

  private static final int SCHEMA = 1;

  /** {@code {name}} stands for a value of the plan, {@code {{name}}} for the literal text. */
  private static final Pattern VALUE =
      Pattern.compile(
          "\\{\\{([a-z][A-Za-z0-9_.\\[\\]-]*)\\}\\}|\\{([a-z][A-Za-z0-9_.\\[\\]-]*)\\}");

  /** Objects in which a name without a dot is looked up first. */
  private static final List<String> FIRST = List.of("factors", "constants");

  /** Beginnings of names whose values are those of the lab, such as files with passwords. */
  private static final List<String> OF_LAB = List.of("endpoints.", "workers.");

  private final PlannedTrial trial;
  private final Map<String, Object> plan;
  private final Path file;

  /**
   * @param scratch a directory of the trial's own, which is removed after the trial
   */
  public ProgramPlan(PlannedTrial trial, LabFile lab, Path scratch) {
    this.trial = trial;
    this.file = scratch.resolve("plan.json");
    Map<String, Object> line = trial.line();
    LabFile shifted = lab.shifted(trial.shift());
    this.plan =
        Json.of(
            "schema", SCHEMA,
            "id", trial.id(),
            "study", line.get("study"),
            "block", trial.block(),
            "factors", trial.object("factors"),
            "constants", trial.object("constants"),
            "seed", trial.seed(),
            "threads", trial.threads(),
            "calls", trial.calls(),
            "warmup", line.get("warmup"),
            "timeout_s", trial.timeoutSeconds(),
            "arrival", line.get("arrival"),
            "endpoints", shifted.endpoints(),
            "workers", shifted.workerEndpoints(trial.servers()),
            "directory", scratch.resolve("work").toString(),
            "output", scratch.resolve("work/output").toString(),
            "plan", file.toString());
  }

  /** Returns the whole plan, as in its file. */
  Map<String, Object> json() {
    return plan;
  }

  /** Returns the file that holds the plan for the program. */
  Path file() {
    return file;
  }

  /** Returns the directory that the program may write to. */
  Path directory() {
    return Path.of(plan.get("directory").toString());
  }

  /** Returns the file whose content, if it exists, is the result of the program. */
  Path output() {
    return Path.of(plan.get("output").toString());
  }

  /**
   * Checks that the plan has each value that a command names, and that no value of the study leads
   * out of the client's directory.
   */
  public void check(Manifest manifest) throws IOException {
    List<String> words = new ArrayList<>();
    for (String word : manifest.command()) {
      words.add(filled(word, name -> valueOfStudy(manifest, name)));
    }
    manifest.check(words);
  }

  /** Returns a value of the study; one of the lab, which the plan must have too, stays a name. */
  private String valueOfStudy(Manifest manifest, String name) {
    String value = value(manifest, name);
    return OF_LAB.stream().anyMatch(name::startsWith) ? "{" + name + "}" : value;
  }

  /**
   * Returns the words of a command with the values that they name. If no word names one, the path
   * of the plan becomes the last argument. Throws {@link BadInput} for a name that the plan does
   * not have.
   */
  List<String> fill(Manifest manifest) {
    List<String> words = new ArrayList<>();
    boolean hasNone = true;
    for (String word : manifest.command()) {
      hasNone &= !VALUE.matcher(word).find();
      words.add(filled(word, name -> value(manifest, name)));
    }
    if (hasNone) {
      words.add(file.toString());
    }
    return words;
  }

  private static String filled(String word, UnaryOperator<String> valueOf) {
    Matcher names = VALUE.matcher(word);
    StringBuilder filled = new StringBuilder();
    while (names.find()) {
      String text =
          names.group(1) != null ? "{" + names.group(1) + "}" : valueOf.apply(names.group(2));
      names.appendReplacement(filled, Matcher.quoteReplacement(text));
    }
    return names.appendTail(filled).toString();
  }

  private String value(Manifest manifest, String name) {
    Object value = null;
    for (String holder : FIRST) {
      value = value == null ? ((Map<?, ?>) plan.get(holder)).get(name) : value;
    }
    value = value == null ? find(plan, name) : value;
    if (value instanceof Map || value instanceof List || value == null) {
      throw new BadInput(
          "%s/client.yml: the command names {%s}, %s; name a factor, a constant or a value of the"
                  .formatted(
                      manifest.directory(),
                      name,
                      value == null
                          ? "which trial " + trial.id() + " does not have"
                          : "which is more than one value")
              + " plan, or write {{%s}} for these letters".formatted(name));
    }
    return value instanceof Double number ? plain(number) : value.toString();
  }

  /** Returns a number without an exponent, which many programs do not read. */
  private static String plain(double number) {
    String text = Double.toString(number);
    if (!text.contains("E")) {
      return text;
    }
    BigDecimal shortest = new BigDecimal(text).stripTrailingZeros();
    return shortest.setScale(Math.max(1, shortest.scale())).toPlainString(); // 2.0E7: 20000000.0
  }

  /** Returns a value by its path; names in the path may contain dots. */
  private static Object find(Object in, String path) {
    if (in instanceof List<?> list) {
      int end = path.indexOf('.') < 0 ? path.length() : path.indexOf('.');
      String place = path.substring(0, end);
      boolean isThere = place.matches("[0-9]{1,4}") && Integer.parseInt(place) < list.size();
      Object one = isThere ? list.get(Integer.parseInt(place)) : null;
      return end == path.length() ? one : find(one, path.substring(end + 1));
    }
    if (!(in instanceof Map<?, ?> map)) {
      return null;
    }
    Object found = map.get(path);
    for (int dot = path.indexOf('.'); found == null && dot >= 0; dot = path.indexOf('.', dot + 1)) {
      found = find(map.get(path.substring(0, dot)), path.substring(dot + 1));
    }
    return found;
  }
}
