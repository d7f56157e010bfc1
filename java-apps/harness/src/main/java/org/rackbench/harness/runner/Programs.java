package org.rackbench.harness.runner;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.rackbench.harness.program.Manifest;
import org.rackbench.harness.program.ProgramPlan;
import org.rackbench.harness.trial.BadInput;
import org.rackbench.harness.trial.LabFile;
import org.rackbench.harness.trial.PlannedTrial;

/** Checks the clients that are programs before the first trial, as far as possible. */
final class Programs {

  private final RunnerOptions options;
  private final LabFile lab;
  private final Map<String, Manifest> manifests = new HashMap<>();

  Programs(RunnerOptions options, LabFile lab) {
    this.options = options;
    this.lab = lab;
  }

  /** Refuses a trial whose client is a program that cannot run it. */
  void check(PlannedTrial trial) throws IOException {
    Path client = options.client(trial);
    if (!Manifest.isIn(client)) {
      return;
    }
    if (!manifests.containsKey(trial.client())) {
      manifests.put(trial.client(), Manifest.read(client));
    }
    Manifest manifest = manifests.get(trial.client());
    new ProgramPlan(trial, lab, options.run()).check(manifest);
    String refusal = manifest.form().refusal(trial.arrival());
    if (!refusal.isEmpty()) {
      throw new BadInput(
          "%s: the client %s reads %s, and trial %s has an arrival: %s; or make the rate a factor"
                  .formatted(client, trial.client(), manifest.form().word(), trial.id(), refusal)
              + " of the command's plan, without the key arrival");
    }
  }
}
