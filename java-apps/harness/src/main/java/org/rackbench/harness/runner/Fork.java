package org.rackbench.harness.runner;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.rackbench.harness.program.Leftovers;
import org.rackbench.harness.program.Manifest;
import org.rackbench.harness.program.ProgramTrial;
import org.rackbench.harness.trial.PlannedTrial;
import org.rackbench.harness.trial.Trial;

/**
 * The JVM of one attempt, from its start to its end. For a Java client it makes the calls; for a
 * client that is a program it runs the command.
 */
final class Fork {

  /** File with the JVM's output; it is sealed with the trial unless it is empty. */
  static final String LOG = Trial.PRINTED;

  /** Directory for the temporary files of the JVM; it is removed before the trial is sealed. */
  static final String TEMPORARY = "tmp";

  /** How the wait for a JVM ended; only {@code BOUND} makes a timeout. */
  enum End {
    /** The JVM ended, by itself or from outside. */
    ENDED,
    /** The JVM reached its bound and was killed. */
    BOUND,
    /** The trial was spoilt, and the JVM was killed before its bound. */
    DISTURBED
  }

  /** A process that a signal ended has this exit status plus the number of the signal. */
  private static final int SIGNALLED = 128;

  /**
   * Signals from outside, by number. A JVM that crashes raises others itself, such as 6 and 11;
   * they are excluded because a crash is a result of the trial.
   */
  private static final Map<Integer, String> FROM_OUTSIDE =
      Map.of(1, "SIGHUP", 2, "SIGINT", 9, "SIGKILL", 15, "SIGTERM");

  private static final int LINE_BYTES = 2000;

  /** Number of bytes that the runner keeps of each end of a longer log. */
  static final int HEAD_BYTES = 64 << 10;

  static final int TAIL_BYTES = 192 << 10;

  /**
   * Options of the JVM that runs a command. It sleeps meanwhile, and reads a log of any length in
   * little memory.
   */
  private static final List<String> OPTIONS_BESIDE_A_PROGRAM =
      List.of(
          "-Xms16m",
          "-Xmx128m",
          "-XX:+UseSerialGC",
          "-XX:TieredStopAtLevel=1",
          "-XX:+ExitOnOutOfMemoryError",
          "-XX:+PerfDisableSharedMem");

  private final Jdk jdk;
  private final Path attempt;
  private final List<String> options;
  private final Process process;
  private final boolean isProgram;
  private long cutBytes;

  private Fork(Jdk jdk, Path attempt, List<String> options, Process process, boolean isProgram) {
    this.jdk = jdk;
    this.attempt = attempt;
    this.options = options;
    this.process = process;
    this.isProgram = isProgram;
  }

  static Fork start(
      Jdk jdk, PlannedTrial trial, Path attempt, Path client, Path lab, String... more)
      throws IOException {
    if (!Manifest.isIn(client)) {
      return start(Trial.class, jdk, trial, attempt, client, lab, more);
    }
    List<String> arguments = new ArrayList<>(List.of(lab.toString(), client.toString()));
    arguments.addAll(List.of(more));
    return start(
        ProgramTrial.class,
        Jdk.own(),
        attempt,
        OPTIONS_BESIDE_A_PROGRAM,
        System.getProperty("java.class.path"),
        arguments);
  }

  /**
   * Starts another main class with the settings of the JVM of {@code trial}.
   *
   * @param jdk the JDK of the trial's JVM
   * @param more its arguments after the directory and the lab file
   */
  static Fork start(
      Class<?> program,
      Jdk jdk,
      PlannedTrial trial,
      Path attempt,
      Path client,
      Path lab,
      String... more)
      throws IOException {
    List<String> arguments = new ArrayList<>(List.of(lab.toString()));
    arguments.addAll(List.of(more));
    return start(program, jdk, attempt, optionsOf(trial), client + "/*", arguments);
  }

  private static Fork start(
      Class<?> program,
      Jdk jdk,
      Path attempt,
      List<String> options,
      String classPath,
      List<String> arguments)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(jdk.java().toString());
    command.addAll(options);
    command.add(Trial.TEMPORARY_OPTION + Files.createDirectory(attempt.resolve(TEMPORARY)));
    command.add("-cp");
    command.add(classPath);
    command.add(program.getName());
    command.add(attempt.toString());
    command.addAll(arguments);
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(Redirect.to(attempt.resolve(LOG).toFile()));
    builder.environment().put(Leftovers.MARK, attempt.toString());
    return new Fork(jdk, attempt, options, builder.start(), program == ProgramTrial.class);
  }

  /** Returns the options of the JVM of {@code trial}. */
  static List<String> optionsOf(PlannedTrial trial) {
    List<String> options = new ArrayList<>();
    options.add("-Xms" + trial.heapMegabytes() + "m");
    options.add("-Xmx" + trial.heapMegabytes() + "m");
    options.add("-XX:+AlwaysPreTouch"); // else the first calls bear the cost of the heap's pages
    options.addAll(trial.collectorOption());
    options.add("-XX:+ExitOnOutOfMemoryError");
    options.add("-XX:+PerfDisableSharedMem"); // else a write to the disk can hold a safepoint
    options.addAll(trial.jvmOptions());
    return options;
  }

  ProcessHandle handle() {
    return process.toHandle();
  }

  /** Writes a byte to the standard input of the JVM. */
  void tell(int what) throws IOException {
    OutputStream input = process.getOutputStream();
    input.write(what);
    input.flush();
  }

  List<String> options() {
    return options;
  }

  Jdk jdk() {
    return jdk;
  }

  /** Returns whether the client is a program, which this JVM only runs. */
  boolean isProgram() {
    return isProgram;
  }

  /**
   * Waits for the end of the JVM. Kills it and its descendants if it reaches the bound or the trial
   * is spoilt. Kills the descendants of a JVM that failed.
   *
   * @param seconds the bound
   * @param lookSeconds time between checks whether the trial is spoilt
   * @param isSpoilt whether a fault of the lab has spoilt the trial
   */
  End await(int seconds, int lookSeconds, BooleanSupplier isSpoilt) throws InterruptedException {
    final long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    while (true) {
      long left = Math.min(end - System.nanoTime(), TimeUnit.SECONDS.toNanos(lookSeconds));
      if (process.waitFor(left, TimeUnit.NANOSECONDS)) {
        if (exitStatus() != 0) {
          Leftovers.kill(attempt); // a JVM that was killed could not end its command
        }
        return End.ENDED;
      } else if (System.nanoTime() >= end) {
        kill();
        return End.BOUND;
      } else if (isSpoilt.getAsBoolean()) {
        kill();
        return End.DISTURBED;
      }
    }
  }

  private void kill() {
    WorkArea.endTree(process.toHandle());
    Leftovers.kill(attempt);
  }

  /** Returns the signal from outside that killed a JVM, or "". */
  String killer() {
    return FROM_OUTSIDE.getOrDefault(exitStatus() - SIGNALLED, "");
  }

  int exitStatus() {
    return process.exitValue();
  }

  /** Returns the last line that the JVM printed, or "". */
  String lastLine() throws IOException {
    try (FileChannel log = FileChannel.open(attempt.resolve(LOG), StandardOpenOption.READ)) {
      String tail = new String(end(log, LINE_BYTES), StandardCharsets.UTF_8).strip();
      return tail.substring(tail.lastIndexOf('\n') + 1);
    }
  }

  /**
   * Cuts the middle out of a long log and leaves a note there. A client that prints endlessly must
   * not exhaust the memory of the runner or of a reader of the log.
   */
  void boundLog() throws IOException {
    try (FileChannel log =
        FileChannel.open(attempt.resolve(LOG), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      long cut = log.size() - HEAD_BYTES - TAIL_BYTES;
      if (cut <= 0) {
        return;
      }
      byte[] tail = end(log, TAIL_BYTES);
      log.truncate(HEAD_BYTES);
      log.position(HEAD_BYTES);
      String gap = "%n[%d bytes of the log were cut here]%n".formatted(cut);
      writeAll(log, gap.getBytes(StandardCharsets.UTF_8));
      writeAll(log, tail);
      cutBytes = cut;
    }
  }

  /** Returns the number of bytes that {@link #boundLog} cut out of the log. */
  long cutBytes() {
    return cutBytes;
  }

  private static byte[] end(FileChannel log, int most) throws IOException {
    long size = log.size();
    ByteBuffer bytes = ByteBuffer.allocate((int) Math.min(size, most));
    long from = size - bytes.capacity();
    while (bytes.hasRemaining() && log.read(bytes, from + bytes.position()) >= 0) {
      continue;
    }
    return Arrays.copyOf(bytes.array(), bytes.position());
  }

  private static void writeAll(FileChannel log, byte[] bytes) throws IOException {
    ByteBuffer left = ByteBuffer.wrap(bytes);
    while (left.hasRemaining()) {
      log.write(left);
    }
  }
}
