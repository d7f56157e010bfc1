package org.rackbench.harness.trial;

import java.util.Map;
import java.util.Set;

/**
 * How long each client thread warms up: a fixed number of calls, or until the calls are steady.
 *
 * @param least calls after which the thread may begin to measure
 * @param most calls after which it does, steady or not; equal to {@code least} for a fixed number
 * @param steady the relative change of the level that must be excluded; 0 for a fixed number. Calls
 *     are not steady either while the compiler uses this share of a processor
 * @param leastSeconds seconds before which calls never count as steady; 0: no such limit
 */
public record Warmup(int least, int most, double steady, double leastSeconds) {

  private static final String HOW =
      "a whole number >= 0, or {least, most, steady} with 1 <= least < most, 0 < steady < 1 and"
          + " perhaps least_s > 0";

  private static final Set<String> KEYS = Set.of("least", "most", "steady", "least_s");

  Warmup(int least, int most, double steady) {
    this(least, most, steady, 0);
  }

  public static Warmup fixed(int calls) {
    return new Warmup(calls, calls, 0);
  }

  /** Returns whether the calls decide the length of the warm-up. */
  public boolean isAdaptive() {
    return steady > 0;
  }

  /**
   * Reads the key {@code warmup} of a line of the plan.
   *
   * @param where file:line, with which the message about an error begins
   */
  static Warmup of(Object value, String where) {
    if (value instanceof Integer calls && calls >= 0) {
      return fixed(calls);
    }
    if (value instanceof Map<?, ?> rule
        && KEYS.containsAll(rule.keySet())
        && rule.get("least") instanceof Integer least
        && rule.get("most") instanceof Integer most
        && rule.get("steady") instanceof Number steady
        && 1 <= least
        && least < most
        && 0 < steady.doubleValue()
        && steady.doubleValue() < 1
        && leastSeconds(rule) >= 0) {
      return new Warmup(least, most, steady.doubleValue(), leastSeconds(rule));
    }
    throw new BadInput("%s: 'warmup' is %s, not %s; make a new plan".formatted(where, value, HOW));
  }

  /** Returns the least seconds of a rule, 0 without them, or -1 if they are not such a number. */
  private static double leastSeconds(Map<?, ?> rule) {
    if (!rule.containsKey("least_s")) {
      return 0;
    }
    return rule.get("least_s") instanceof Number number && number.doubleValue() > 0
        ? number.doubleValue()
        : -1;
  }
}
