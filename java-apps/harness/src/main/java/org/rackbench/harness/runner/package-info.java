/**
 * The program that runs on the client node for a whole sweep. It starts a JVM for each trial,
 * watches the JVM and its services, and seals the trial. {@link
 * org.rackbench.harness.runner.Runner} is its main class.
 */
package org.rackbench.harness.runner;
