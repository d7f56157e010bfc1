package org.rackbench.harness.program;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.rackbench.harness.trial.Durable;
import org.rackbench.harness.trial.ErrorText;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.LabFile;
import org.rackbench.harness.trial.Observer;
import org.rackbench.harness.trial.PlannedTrial;
import org.rackbench.harness.trial.RunnerWatch;
import org.rackbench.harness.trial.Trial;
import org.rackbench.harness.trial.Utc;

/**
 * The main class of the JVM that the runner starts for one trial of a client that is a program. It
 * runs the command in a session of its own, waits for its end and kills its remaining processes.
 * From the output it writes the files that {@link Trial} writes: {@link Trial#CALLS} and {@link
 * Trial#RESULT}. The standard error of the command becomes the log of the trial.
 */
public final class ProgramTrial {

  /** The text of a summary as the program printed it; it is sealed with the trial. */
  public static final String SUMMARY = "summary.txt";

  /** Exit statuses of a process that was ended from outside: SIGHUP, SIGINT, SIGKILL, SIGTERM. */
  private static final Set<Integer> ENDED_FROM_OUTSIDE = Set.of(129, 130, 137, 143);

  private static final long POLL_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Time in which remaining processes may end by themselves. */
  private static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final int MOST_OUTPUT_BYTES = Integer.MAX_VALUE;
  private static final int SHOWN_BYTES = 64 << 10;

  /** Files of a command that are smaller do not fill a disk. */
  private static final int LARGE_BYTES = 1 << 20;

  private static final int MOST_SUMMARY_BYTES = 16 << 20;
  private static final int LISTED = 5;

  private final Path attempt;
  private final PlannedTrial trial;
  private final Manifest manifest;
  private final ProgramPlan plan;
  private final Path printed;
  private final long origin = System.nanoTime();
  private final Instant anchor = Instant.now();
  private final Map<String, Object> result = Json.of("outcome", null, "reason", null);
  private List<String> words = List.of();
  private long begun;
  private long ended;

  private ProgramTrial(Path attempt, Path lab, Path client) throws IOException {
    this.attempt = attempt;
    Path file = attempt.resolve(Trial.PLAN);
    this.trial = PlannedTrial.of(Json.read(file), file.toString());
    this.manifest = Manifest.read(client);
    Path scratch = Path.of(System.getProperty("java.io.tmpdir"));
    this.plan = new ProgramPlan(trial, LabFile.read(lab), scratch);
    this.printed = scratch.resolve("printed");
  }

  /**
   * Takes the work directory, the lab file and the client's directory as arguments, and {@link
   * RunnerWatch#SAMPLED} if the runner has the nodes sampled around the command.
   */
  public static void main(String[] args) {
    Path attempt = Path.of(args[0]);
    RunnerWatch runner = RunnerWatch.start(() -> endCommand(attempt));
    RunnerWatch.outliveSignals();
    int status;
    try {
      boolean isSampled = args.length > 3 && args[3].equals(RunnerWatch.SAMPLED);
      status =
          new ProgramTrial(attempt, Path.of(args[1]), Path.of(args[2]))
              .run(isSampled ? List.of(runner.teller(attempt)) : List.of());
    } catch (IOException e) {
      System.err.println(Trial.NOT_WRITTEN + e);
      status = Trial.EXIT_IO;
    } catch (Throwable e) {
      e.printStackTrace();
      status = 1;
    }
    Leftovers.kill(attempt);
    Runtime.getRuntime().halt(status);
  }

  /** Kills the processes of the command, also those without the mark of the attempt. */
  private static void endCommand(Path attempt) {
    ProcessHandle.current().descendants().forEach(ProcessHandle::destroyForcibly);
    Leftovers.kill(attempt);
  }

  /** Returns the exit status: 0 if there is a result. */
  private int run(List<Observer> observers) throws IOException, InterruptedException {
    final String anchorStart = Utc.now();
    result.put("jvm", Map.of()); // no JVM of rackbench made the calls
    if (trial.isProfiled()) {
      result.put("profile", Json.of("missing", "the client is a program, not a JVM of rackbench"));
    }
    if (trial.isCaptured()) {
      String reason = "the client is a program, which cannot be asked for a single call";
      result.put("capture", Json.of("missing", reason));
      end(Trial.FAILED, reason);
    } else {
      Integer signalled = runCommand(observers);
      if (signalled != null) {
        return signalled;
      }
    }
    result.put("clock", Trial.clock(origin, anchorStart));
    Durable.remove(plan.directory()); // the command may have filled the disk
    Files.deleteIfExists(printed);
    Durable.replace(attempt.resolve(Trial.RESULT), Json.bytes(result));
    return 0;
  }

  /** Returns the status of a command that was ended from outside, else null. */
  private Integer runCommand(List<Observer> observers) throws IOException, InterruptedException {
    words = plan.fill(manifest);
    Files.createDirectories(plan.directory());
    Files.write(plan.file(), Json.bytes(plan.json()));
    observers.forEach(Observer::before);
    begun = System.nanoTime();
    Process process;
    try {
      process = start();
    } catch (IOException e) {
      fail("the command could not be started: " + ErrorText.of(e));
      return null;
    }
    Limit exceeded = await(process);
    ended = System.nanoTime();
    observers.forEach(Observer::after);
    if (exceeded != null) {
      Leftovers.kill(attempt, process.pid());
      end(exceeded.outcome(), exceeded.reason());
      return null;
    }
    int status = process.exitValue();
    List<String> left =
        Leftovers.after(GRACE_NANOS, attempt, process.pid()).stream().map(Leftovers::name).toList();
    Leftovers.kill(attempt, process.pid());
    if (ENDED_FROM_OUTSIDE.contains(status)) {
      return status;
    }
    judge(status, left);
    return null;
  }

  private Process start() throws IOException {
    List<String> command = new ArrayList<>(List.of("setsid"));
    command.addAll(words);
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(manifest.directory().toFile())
            .redirectInput(Redirect.from(new File("/dev/null")))
            .redirectOutput(printed.toFile())
            .redirectError(Redirect.INHERIT);
    builder.environment().put("RACKBENCH_PLAN", plan.file().toString());
    builder.environment().put("TMPDIR", plan.directory().toString());
    return builder.start();
  }

  /**
   * A limit that a command exceeded, so that it must be killed.
   *
   * @param outcome the outcome of its trial
   */
  private record Limit(String outcome, String reason) {}

  /** Waits for the end of the command; returns null, or the limit that it exceeded before. */
  private Limit await(Process process) throws IOException, InterruptedException {
    long bound = TimeUnit.SECONDS.toNanos(trial.timeoutSeconds());
    long reserve = Trial.reserveNanos(trial.timeoutSeconds());
    long uptime = ManagementFactory.getRuntimeMXBean().getUptime();
    long end = System.nanoTime() + bound - reserve - TimeUnit.MILLISECONDS.toNanos(uptime);
    while (true) {
      long left = Math.max(1, Math.min(POLL_NANOS, end - System.nanoTime()));
      if (process.waitFor(left, TimeUnit.NANOSECONDS)) {
        return null;
      } else if (System.nanoTime() >= end) {
        return new Limit(
            Trial.TIMEOUT,
            String.format(
                Locale.ROOT,
                "not done within timeout_s = %d s: the command was killed when the last %.1f s were"
                    + " left to read its output",
                trial.timeoutSeconds(),
                reserve / 1e9));
      } else if (isTooLarge(printed)
          || isTooLarge(plan.output())
          || isTooLarge(attempt.resolve(Trial.PRINTED))) {
        return new Limit(
            Trial.FAILED,
            "the command left more than %d bytes and was killed".formatted(MOST_OUTPUT_BYTES));
      }
    }
  }

  private static boolean isTooLarge(Path file) throws IOException {
    return size(file) > MOST_OUTPUT_BYTES;
  }

  private static long size(Path file) throws IOException {
    return Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS) ? Files.size(file) : 0;
  }

  /** Decides the outcome of a command that has ended. */
  private void judge(int status, List<String> left) throws IOException {
    Path output = size(plan.output()) > 0 ? plan.output() : printed;
    String found = "";
    if (status != 0) {
      found = "the command ended with status " + status;
    } else if (!left.isEmpty()) {
      found =
          "the command left processes behind, which were killed: %s; let it wait for them"
              .formatted(String.join(", ", left.subList(0, Math.min(LISTED, left.size()))));
    } else if (Files.exists(plan.output(), LinkOption.NOFOLLOW_LINKS)
        && !Files.isRegularFile(plan.output(), LinkOption.NOFOLLOW_LINKS)) {
      found = "the command left a link or a directory as {output}; let it write the file itself";
    } else if (size(output) == 0) {
      found = "the command left nothing: neither the file {output} nor a line on standard output";
    } else if (isTooLarge(output)) {
      found = "the command left more than %d bytes".formatted(MOST_OUTPUT_BYTES);
    } else if (!Files.isReadable(output)) {
      found = "the command left a file {output} without permission to read it";
    }
    if (!found.isEmpty()) {
      show(printed);
      fail(found);
      return;
    }
    if (output != printed) {
      show(printed);
    }
    read(output);
  }

  private void read(Path output) throws IOException {
    long zero = TimeUnit.SECONDS.toNanos(anchor.getEpochSecond()) + anchor.getNano();
    CallFile calls =
        new CallFile(
            attempt.resolve(Trial.CALLS),
            zero,
            zero + begun - origin,
            zero + ended - origin,
            trial.arrival());
    try (calls) {
      Summary summary = manifest.form().reader().read(output, calls);
      if (summary == null) {
        judge(calls);
      } else {
        keep(summary, output);
      }
    } catch (UnreadableOutput e) {
      show(output);
      fail(
          "its output cannot be read as %s, which docs/guides/add-a-client.md explains: %s"
              .formatted(manifest.form().word(), e.getMessage()));
    } catch (IOException e) {
      failWithoutSpace(e);
    }
  }

  /**
   * Fails the trial if the command itself filled the disk, because another attempt would end in the
   * same way. Else throws {@code e}, a fault of this node.
   */
  private void failWithoutSpace(IOException e) throws IOException {
    long left = leftBytes();
    if (left < Math.max(LARGE_BYTES, Files.getFileStore(attempt).getUsableSpace())) {
      throw e;
    }
    Files.deleteIfExists(attempt.resolve(SUMMARY));
    result.remove("errors"); // else the runner would seal the calls
    fail(
        "the command left %d bytes, and no space to read them: %s"
            .formatted(left, ErrorText.of(e)));
  }

  /** Returns the bytes of the files that the command left, as far as they can be found. */
  private long leftBytes() throws IOException {
    long bytes = 0;
    try (Stream<Path> files = Files.walk(printed.getParent())) {
      for (Path file : (Iterable<Path>) files::iterator) {
        bytes += size(file);
      }
    } catch (UncheckedIOException e) {
      return bytes; // it locked a directory
    }
    return bytes;
  }

  private void judge(CallFile calls) {
    String otherRate = calls.otherRate(manifest.form() == Form.VEGETA);
    String otherUnit = manifest.form() == Form.CSV ? calls.otherUnit() : "";
    if (calls.measured() == 0) {
      fail("the command made no call that counts");
      return;
    } else if (!otherRate.isEmpty()) {
      fail(otherRate);
      return;
    } else if (!otherUnit.isEmpty()) {
      fail(otherUnit);
      return;
    }
    boolean isGood = calls.good() > 0 && calls.good() >= trial.leastOk() * calls.measured();
    String reason =
        calls.good() == 0
            ? "no measured call was ok"
            : "%d of %d measured calls were ok, fewer than least_ok = %s of them; none of them counts"
                .formatted(calls.good(), calls.measured(), trial.leastOk());
    end(isGood ? Trial.OK : Trial.FAILED, isGood ? "" : reason);
    result.put("errors", calls.errors());
  }

  /** Keeps a summary and its original text. */
  private void keep(Summary summary, Path output) throws IOException, UnreadableOutput {
    if (Files.size(output) > MOST_SUMMARY_BYTES) {
      throw new UnreadableOutput("it is longer than %d bytes".formatted(MOST_SUMMARY_BYTES));
    }
    Files.copy(output, attempt.resolve(SUMMARY));
    end(Trial.OK, "");
    Map<String, Object> said = summary.json();
    said.put("from_ns", begun - origin);
    said.put("to_ns", ended - origin);
    program().put("summary", said);
    result.put("errors", List.of());
  }

  private void fail(String reason) {
    end(Trial.FAILED, reason);
  }

  private void end(String outcome, String reason) {
    result.put("outcome", outcome);
    result.put("reason", reason);
    result.put(
        "program", Json.of("command", words, "reads", manifest.form().word(), "summary", null));
  }

  @SuppressWarnings("unchecked")
  private Map<String, Object> program() {
    return (Map<String, Object>) result.get("program");
  }

  /** Adds the beginning of a command's output to the log of the trial. */
  private static void show(Path file) throws IOException {
    if (size(file) > 0) {
      try (InputStream in = Files.newInputStream(file)) {
        System.out.write(in.readNBytes(SHOWN_BYTES));
        System.out.flush();
      }
    }
  }
}
