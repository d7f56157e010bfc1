package org.rackbench.harness.program;

import java.util.Map;
import org.rackbench.harness.trial.Json;

/**
 * A program's summary of all calls.
 *
 * @param calls good calls
 * @param meanMillis their arithmetic mean
 * @param p50Millis their median as the program reports it, or null
 * @param p99Millis their 99th percentile as the program reports it, or null
 * @param maxMillis the longest
 * @param callsPerSecond of all connections together
 */
record Summary(
    long calls,
    double meanMillis,
    Double p50Millis,
    Double p99Millis,
    double maxMillis,
    double callsPerSecond) {

  Map<String, Object> json() {
    return Json.of(
        "calls", calls,
        "mean_ms", meanMillis,
        "p50_ms", p50Millis,
        "p99_ms", p99Millis,
        "max_ms", maxMillis,
        "calls_per_s", callsPerSecond);
  }
}
