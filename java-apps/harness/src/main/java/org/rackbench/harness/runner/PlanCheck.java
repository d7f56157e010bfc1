package org.rackbench.harness.runner;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.rackbench.harness.program.Manifest;
import org.rackbench.harness.trial.BadInput;
import org.rackbench.harness.trial.LabFile;
import org.rackbench.harness.trial.PlannedTrial;

/**
 * Checks that this node can run the clients of a plan and start their JVMs, and runs no trial. A
 * sweep checks all its runs before its first trial.
 *
 * <p>Takes the options of {@link Runner}. Exit status: 0 success, 2 bad input, 3 a fault of this
 * node.
 */
public final class PlanCheck {

  private PlanCheck() {}

  public static void main(String[] args) {
    System.exit(run(args));
  }

  private static int run(String[] args) {
    try {
      RunnerOptions options = RunnerOptions.of(args);
      Plan plan = Plan.read(options.run().resolve("plan.jsonl"));
      check(plan, options, LabFile.read(options.lab()));
      startJvms(plan, options);
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

  /** Starts a JVM with each set of options of Java clients; refuses one that does not start. */
  private static void startJvms(Plan plan, RunnerOptions options) throws IOException {
    final long memory = memoryMegabytes();
    Set<List<String>> started = new HashSet<>();
    for (PlannedTrial trial : plan.all()) {
      if (Manifest.isIn(options.client(trial))) {
        continue; // its JVM only runs a program
      }
      if (trial.heapMegabytes() > memory) {
        throw new BadInput(
            "trial %s: its heap of %d MiB exceeds the memory of this node, %d MiB; lower client_heap_mb in the study"
                .formatted(trial.id(), trial.heapMegabytes(), memory));
      }
      List<String> tried = Fork.optionsOf(trial).stream().filter(PlanCheck::isTried).toList();
      List<String> command = new ArrayList<>(List.of(options.jdk(trial).java().toString()));
      command.addAll(tried);
      command.add("-version");
      if (!started.add(command)) {
        continue;
      }
      Process jvm = new ProcessBuilder(command).redirectErrorStream(true).start();
      String said = new String(jvm.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (jvm.onExit().join().exitValue() != 0) {
        throw new BadInput(
            "trial %s: its JVM does not start with %s: %s; correct jvm_options, collector or client_heap_mb in the study"
                .formatted(trial.id(), String.join(" ", tried), cause(said)));
      }
    }
  }

  /**
   * Returns whether an option is tried. Memory of the heap is not taken, and options with a path
   * are left out: the check may not write where a trial may.
   */
  private static boolean isTried(String option) {
    return !option.startsWith("-Xms")
        && !option.equals("-XX:+AlwaysPreTouch")
        && !option.contains("/");
  }

  /** Returns the first line of what a JVM printed that is no warning. */
  private static String cause(String said) {
    Stream<String> lines = said.lines().filter(line -> !line.contains(" warning: "));
    return lines.findFirst().orElse("no output");
  }

  /** Returns the memory of this node, or of its container, in MiB. */
  private static long memoryMegabytes() {
    var system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    return system.getTotalMemorySize() >> 20;
  }
}
