package org.rackbench.harness.runner;

import java.io.IOException;
import org.rackbench.harness.trial.BadInput;
import org.rackbench.harness.trial.LabFile;
import org.rackbench.harness.trial.PlannedTrial;

/**
 * Checks that this node can run the clients of a plan, and runs no trial. A sweep checks all its
 * runs before its first trial.
 *
 * <p>Takes the options of {@link Runner}. Exit status: 0 good, 2 bad input, 3 a fault of this node.
 */
public final class PlanCheck {

  private PlanCheck() {}

  public static void main(String[] args) {
    System.exit(run(args));
  }

  private static int run(String[] args) {
    try {
      RunnerOptions options = RunnerOptions.of(args);
      check(Plan.read(options.run().resolve("plan.jsonl")), options, LabFile.read(options.lab()));
      return Runner.OK;
    } catch (BadInput e) {
      System.err.println(e.getMessage());
      return Runner.BAD_INPUT;
    } catch (IOException e) {
      System.err.println(e);
      return Runner.FAULT;
    }
  }

  /**
   * Refuses a client that is not deployed, a JDK that is not installed, a bad manifest, and a
   * service that no node has.
   */
  static void check(Plan plan, RunnerOptions options, LabFile lab) throws IOException {
    Programs programs = new Programs(options, lab);
    ServingNodes nodes = new ServingNodes(lab);
    for (PlannedTrial trial : plan.all()) { // later groups may have other clients
      options.client(trial);
      options.jdk(trial);
      programs.check(trial);
      if (nodes.healthPort() != 0) {
        nodes.of(trial);
      }
    }
  }
}
