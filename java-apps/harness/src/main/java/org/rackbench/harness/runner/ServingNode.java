package org.rackbench.harness.runner;

import java.util.List;

/**
 * A node that serves a trial.
 *
 * @param services the services of rackbench that the trial needs on it
 */
record ServingNode(String name, String address, List<String> services) {}
