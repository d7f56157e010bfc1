package org.rackbench.harness.runner;

import java.io.IOException;
import java.util.Map;

/**
 * Something that watches trials from outside their JVM, as JMH's ExternalProfiler does. The runner
 * makes one attempt at a time, so an observer may keep what it needs between the two calls.
 */
interface Observer {

  /**
   * Called before the JVM of an attempt is started.
   *
   * @param attempt takes arguments for that JVM and what is to be done once it runs
   */
  void before(Observation attempt) throws IOException;

  /**
   * Called when that JVM has ended, at the same time as the other observers and the health checks
   * after the trial. Returns the entries that it contributes to trial.json. What a node does not
   * tell is an entry with the reason and never an exception.
   */
  Map<String, Object> after(Observation attempt) throws IOException;
}
