package org.rackbench.harness.api;

import java.time.Duration;
import java.util.Map;

/**
 * Everything a client may know of its trial.
 *
 * @param id id of the trial
 * @param factors the cell: level by factor
 * @param constants the study's constants
 * @param seed seed of the trial's data; equal for all cells of a block
 * @param drawing how the data of a call are drawn from the seed; a plan names it
 * @param threads number of client threads, each with its own caller
 * @param callTimeout longest time a call may take: constant {@code call_timeout_s}, or else a
 *     quarter of the trial's bound
 * @param lab the nodes to talk to
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

  /** Returns the whole number called {@code name}: a factor's level or else a constant. */
  public int integer(String name) {
    Object value = value(name);
    if (value instanceof Number number && number.doubleValue() == number.intValue()) {
      return number.intValue();
    }
    throw new IllegalArgumentException(
        "'%s' of trial %s is %s, not a whole number; correct the study file"
            .formatted(name, id, value));
  }

  /** Returns whether {@code name}, a factor or else a constant, is true. */
  public boolean flag(String name) {
    if (value(name) instanceof Boolean flag) {
      return flag;
    }
    throw new IllegalArgumentException(
        "'%s' of trial %s is %s, not true or false; correct the study file"
            .formatted(name, id, value(name)));
  }

  /** Returns the same, and {@code otherwise} for a study file that does not have it. */
  public boolean flag(String name, boolean otherwise) {
    return factors.containsKey(name) || constants.containsKey(name) ? flag(name) : otherwise;
  }

  /** Returns the word called {@code name}, which must be one of {@code allowed}. */
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
   * Returns whether messages are to be persistent: constant {@code persistence} (none, written,
   * synced; the last is the broker's matter), or {@code delivery} (persistent, non-persistent) in
   * studies that do not have it.
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
