/**
 * What runs on the client node for a whole sweep: it starts a JVM for each trial, watches it and
 * the services it needs, and seals what came of it. {@link org.rackbench.harness.runner.Runner} is
 * its main class.
 */
package org.rackbench.harness.runner;
