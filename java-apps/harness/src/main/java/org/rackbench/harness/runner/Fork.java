package org.rackbench.harness.runner;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.rackbench.harness.trial.PlannedTrial;
import org.rackbench.harness.trial.Trial;

/** The JVM of one attempt, from its start to its end. */
final class Fork {

  /** File with what the JVM printed; it is sealed with the trial unless it is empty. */
  static final String LOG = "trial.log";

  /**
   * Seconds between questions whether the wait is in vain; so rare that they do not disturb the
   * calls.
   */
  private static final int PATIENCE_S = 30;

  private static final int TAIL_BYTES = 2000;

  private final Path attempt;
  private final List<String> options;
  private final Process process;

  private Fork(Path attempt, List<String> options, Process process) {
    this.attempt = attempt;
    this.options = options;
    this.process = process;
  }

  static Fork start(PlannedTrial trial, Path attempt, Path clients, Path lab) throws IOException {
    List<String> options = new ArrayList<>();
    options.add("-Xms" + trial.heapMegabytes() + "m");
    options.add("-Xmx" + trial.heapMegabytes() + "m");
    options.add("-XX:+ExitOnOutOfMemoryError");
    options.addAll(trial.jvmOptions());
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(options);
    command.add("-cp");
    command.add(clients.resolve(trial.client()) + "/*");
    command.add(Trial.class.getName());
    command.add(attempt.toString());
    command.add(lab.toString());
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(Redirect.to(attempt.resolve(LOG).toFile()))
            .start();
    return new Fork(attempt, options, process);
  }

  ProcessHandle handle() {
    return process.toHandle();
  }

  List<String> options() {
    return options;
  }

  /**
   * Waits for the end of the JVM. Kills it and its descendants when the bound is reached or when
   * waiting is in vain. Returns whether it ended by itself.
   *
   * @param seconds the bound
   * @param isVain asked every {@link #PATIENCE_S} seconds whether the trial cannot succeed any more
   */
  boolean await(int seconds, BooleanSupplier isVain) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    boolean ended;
    do {
      long left = Math.min(end - System.nanoTime(), TimeUnit.SECONDS.toNanos(PATIENCE_S));
      ended = process.waitFor(left, TimeUnit.NANOSECONDS);
    } while (!ended && System.nanoTime() < end && !isVain.getAsBoolean());
    if (!ended) {
      WorkArea.endTree(process.toHandle());
    }
    return ended;
  }

  int exitStatus() {
    return process.exitValue();
  }

  /** Returns the last line that the JVM printed, or "". */
  String lastLine() throws IOException {
    byte[] bytes = Files.readAllBytes(attempt.resolve(LOG));
    int from = Math.max(0, bytes.length - TAIL_BYTES);
    String tail = new String(bytes, from, bytes.length - from, StandardCharsets.UTF_8).strip();
    return tail.substring(tail.lastIndexOf('\n') + 1);
  }
}
