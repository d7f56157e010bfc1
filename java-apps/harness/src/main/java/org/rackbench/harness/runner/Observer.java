package org.rackbench.harness.runner;

import java.io.IOException;
import java.util.Map;

/**
 * Watches trials from outside their JVM, like JMH's ExternalProfiler. The runner makes one attempt
 * at a time, so an observer may keep state between the two calls.
 */
interface Observer {

  /**
   * The runner calls this before it starts the JVM of an attempt.
   *
   * @param attempt accepts arguments for that JVM and actions for when it runs
   */
  void before(Observation attempt) throws IOException;

  /**
   * The runner calls this when that JVM has ended, in parallel with the other observers and the
   * health checks after the trial. Returns entries for trial.json. If a node does not report
   * something, its entry has the reason; the observer never throws for that.
   */
  Map<String, Object> after(Observation attempt) throws IOException;
}
