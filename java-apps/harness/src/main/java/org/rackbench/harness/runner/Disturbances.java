package org.rackbench.harness.runner;

import java.util.Map;
import org.rackbench.harness.trial.Json;

/** Disturbances of the machines while a trial ran, from the health checks around it. */
final class Disturbances implements Observer {

  @Override
  public void before(Observation attempt) {}

  @Override
  public Map<String, Object> after(Observation attempt) {
    return Json.of("interference", attempt.lookAfter().interference(attempt.lookBefore()));
  }
}
