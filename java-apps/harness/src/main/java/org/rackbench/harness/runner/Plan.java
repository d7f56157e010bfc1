package org.rackbench.harness.runner;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.rackbench.harness.trial.BadInput;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.PlannedTrial;

/** {@code plan.jsonl}: the trials of a run in the order of their execution. */
final class Plan {

  private final Path file;
  private final Map<String, PlannedTrial> trials = new LinkedHashMap<>();

  private Plan(Path file) {
    this.file = file;
  }

  static Plan read(Path file) throws IOException {
    Plan plan = new Plan(file);
    List<String> lines;
    try {
      lines = Files.readAllLines(file);
    } catch (NoSuchFileException e) {
      throw new BadInput(file + ": no such file; push the plan of the run to this node first");
    }
    for (int i = 0; i < lines.size(); i++) {
      String where = file + ":" + (i + 1);
      PlannedTrial trial = PlannedTrial.of(Json.parse(lines.get(i), where), where);
      if (plan.trials.put(trial.id(), trial) != null) {
        throw new BadInput("%s: trial %s appears twice".formatted(where, trial.id()));
      }
    }
    if (plan.trials.isEmpty()) {
      throw new BadInput(file + ": no trial in it");
    }
    return plan;
  }

  Set<String> ids() {
    return trials.keySet();
  }

  List<PlannedTrial> all() {
    return List.copyOf(trials.values());
  }

  /**
   * Returns the trials from {@code first} to {@code last} in plan order; null means the plan's end.
   */
  List<PlannedTrial> between(String first, String last) {
    List<PlannedTrial> all = all();
    int from = first == null ? 0 : position(first);
    int to = last == null ? all.size() - 1 : position(last);
    if (from > to) {
      throw new BadInput("--first %s comes after --last %s in %s".formatted(first, last, file));
    }
    return all.subList(from, to + 1);
  }

  /** Returns the trials whose ids the file {@code group} lists, one a line, in plan order. */
  List<PlannedTrial> group(Path group) throws IOException {
    Set<String> wanted = new HashSet<>();
    List<String> lines;
    try {
      lines = Files.readAllLines(group);
    } catch (NoSuchFileException e) {
      throw new BadInput(group + ": no such file");
    }
    for (int i = 0; i < lines.size(); i++) {
      String id = lines.get(i).strip();
      if (!trials.containsKey(id)) {
        throw new BadInput("%s:%d: no trial '%s' in %s".formatted(group, i + 1, id, file));
      }
      wanted.add(id);
    }
    List<PlannedTrial> selected = new ArrayList<>(all());
    selected.removeIf(trial -> !wanted.contains(trial.id()));
    return selected;
  }

  private int position(String id) {
    int position = new ArrayList<>(trials.keySet()).indexOf(id);
    if (position < 0) {
      throw new BadInput("no trial '%s' in %s".formatted(id, file));
    }
    return position;
  }
}
