package org.rackbench.harness.api;

import java.time.Duration;
import java.util.Map;

/**
 * The settings of a trial, as a client sees them.
 *
 * @param id id of the trial
 * @param factors the cell: level by factor
 * @param constants the study's constants
 * @param seed seed of the trial's data, the same for all cells of a block
 * @param drawing number of the method that draws the data of a call from the seed, from the plan
 * @param threads number of client threads, each with its own caller
 * @param callTimeout longest time of a call: constant {@code call_timeout_s}, or else a quarter of
 *     the trial's bound
 * @param lab the nodes that the client connects to
 */
public record Setting(
    String id,
    Map<String, Object> factors,
    Map<String, Object> constants,
    long seed,
    int drawing,
    int threads,
    Duration callTimeout,
    Lab lab) {

  /** Returns the whole number {@code name}: the level of that factor, or else that constant. */
  public int integer(String name) {
    Object value = value(name);
    if (value instanceof Number number && number.doubleValue() == number.intValue()) {
      return number.intValue();
    }
    throw new IllegalArgumentException(
        "'%s' of trial %s is %s, not a whole number; correct the study file"
            .formatted(name, id, value));
  }

  /** Returns the truth value {@code name}: the level of that factor, or else that constant. */
  public boolean flag(String name) {
    if (value(name) instanceof Boolean flag) {
      return flag;
    }
    throw new IllegalArgumentException(
        "'%s' of trial %s is %s, not true or false; correct the study file"
            .formatted(name, id, value(name)));
  }

  /** Returns the same, or {@code otherwise} if the study file does not have it. */
  public boolean flag(String name, boolean otherwise) {
    return factors.containsKey(name) || constants.containsKey(name) ? flag(name) : otherwise;
  }

  /** Returns the word {@code name}, which must be one of {@code allowed}. */
  public String word(String name, String... allowed) {
    Object value = value(name);
    for (String word : allowed) {
      if (word.equals(value)) {
        return word;
      }
    }
    throw new IllegalArgumentException(
        "'%s' of trial %s is %s; the study file must give one of %s"
            .formatted(name, id, value, String.join(", ", allowed)));
  }

  /**
   * Returns whether messages are persistent: constant {@code persistence} (none, written, synced;
   * the broker alone distinguishes the last two), or {@code delivery} (persistent, non-persistent)
   * in older studies.
   */
  public boolean isPersistent() {
    return factors.containsKey("persistence") || constants.containsKey("persistence")
        ? !word("persistence", "none", "written", "synced").equals("none")
        : word("delivery", "persistent", "non-persistent").equals("persistent");
  }

  private Object value(String name) {
    Object value = factors.containsKey(name) ? factors.get(name) : constants.get(name);
    if (value == null) {
      throw new IllegalArgumentException(
          "trial %s has no factor or constant '%s'; add it to the study file".formatted(id, name));
    }
    return value;
  }
}
