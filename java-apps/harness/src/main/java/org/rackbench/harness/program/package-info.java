/**
 * A client that is any program: a directory with a manifest, {@code client.yml}. {@link
 * org.rackbench.harness.program.ProgramTrial} is the main class of the JVM that runs the command of
 * one trial, in place of {@link org.rackbench.harness.trial.Trial}, and reads its output.
 */
package org.rackbench.harness.program;
