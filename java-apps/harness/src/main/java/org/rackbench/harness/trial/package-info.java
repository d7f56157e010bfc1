/**
 * The program in the JVM of one trial. It reads its line of the plan and the lab, makes the calls
 * and writes {@code calls.csv} and a result. {@link org.rackbench.harness.trial.Trial} is its main
 * class.
 */
package org.rackbench.harness.trial;
