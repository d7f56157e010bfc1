package org.rackbench.harness.trial;

import java.util.Map;
import java.util.Set;

/**
 * How calls arrive in the open loop, whether a thread is free or not.
 *
 * @param rate calls a second, over all client threads together
 * @param isPoisson whether gaps are drawn from the exponential distribution; else all are equal
 * @param leadSeconds seconds for which calls come at that rate before the first one counts
 */
public record Arrival(double rate, boolean isPoisson, double leadSeconds) {

  /** Seconds that the observers need before the first counted call. */
  static final double LEAST_LEAD_S = 0.5;

  private static final String HOW =
      "{rate, spacing, lead_s} with rate > 0, spacing even or poisson and lead_s >= "
          + LEAST_LEAD_S;

  private static final Set<String> KEYS = Set.of("rate", "spacing", "lead_s");

  /**
   * Reads the key {@code arrival} of a line of the plan; null means the closed loop.
   *
   * @param where file:line, with which the message about an error begins
   */
  static Arrival of(Object value, String where) {
    if (value == null) {
      return null;
    }
    if (value instanceof Map<?, ?> said
        && said.keySet().equals(KEYS)
        && said.get("rate") instanceof Number rate
        && said.get("lead_s") instanceof Number lead
        && rate.doubleValue() > 0
        && lead.doubleValue() >= LEAST_LEAD_S
        && ("even".equals(said.get("spacing")) || "poisson".equals(said.get("spacing")))) {
      return new Arrival(
          rate.doubleValue(), "poisson".equals(said.get("spacing")), lead.doubleValue());
    }
    throw new BadInput("%s: 'arrival' is %s, not %s; make a new plan".formatted(where, value, HOW));
  }
}
