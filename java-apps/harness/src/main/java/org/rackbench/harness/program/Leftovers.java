package org.rackbench.harness.program;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The processes of an attempt, including all descendants. A process inherits its environment, which
 * holds the mark of the attempt. A process without the mark is found while it stays in the session
 * of the command.
 */
public final class Leftovers {

  /** Variable of the environment: the directory of the attempt. */
  public static final String MARK = "RACKBENCH_ATTEMPT";

  private static final Path PROCESSES = Path.of("/proc");
  private static final long NO_SESSION = -1;
  private static final int ROUNDS = 100;
  private static final int ROUND_MS = 20;

  /** Columns of /proc/PID/stat after the name of the program. */
  private static final int STATE = 0;

  private static final int SESSION = 3;

  private Leftovers() {}

  /** Kills all processes of an attempt except this one, and waits until they are gone. */
  public static void kill(Path attempt) {
    kill(attempt, NO_SESSION);
  }

  /**
   * Does the same.
   *
   * @param session the id of the command's session, whose processes also belong to the attempt
   */
  static void kill(Path attempt, long session) {
    for (int round = 0; round < ROUNDS; round++) {
      List<ProcessHandle> left = of(attempt, session);
      if (left.isEmpty()) {
        return;
      }
      left.forEach(ProcessHandle::destroyForcibly);
      rest();
    }
    System.err.println("processes of " + attempt + " do not end: " + of(attempt, session));
  }

  /** Returns the processes that have not ended by themselves within this time. */
  static List<ProcessHandle> after(long nanos, Path attempt, long session) {
    long end = System.nanoTime() + nanos;
    List<ProcessHandle> left = of(attempt, session);
    while (!left.isEmpty() && System.nanoTime() < end) {
      rest();
      left = of(attempt, session);
    }
    return left;
  }

  /** Returns the program and the id of a process, for a message. */
  static String name(ProcessHandle process) {
    String command = process.info().command().orElse("(unknown)");
    return "%s (%d)".formatted(Path.of(command).getFileName(), process.pid());
  }

  private static List<ProcessHandle> of(Path attempt, long session) {
    long own = ProcessHandle.current().pid();
    String mark = "\0" + MARK + "=" + attempt + "\0";
    try (Stream<ProcessHandle> all = ProcessHandle.allProcesses()) {
      return all.filter(process -> process.pid() != own)
          .filter(process -> isOf(process.pid(), mark, session))
          .toList();
    }
  }

  private static boolean isOf(long pid, String mark, long session) {
    Path process = PROCESSES.resolve(Long.toString(pid));
    try {
      String line = Files.readString(process.resolve("stat"), StandardCharsets.ISO_8859_1);
      String[] columns = line.substring(line.lastIndexOf(')') + 2).split(" ");
      if (columns[STATE].equals("Z") || columns[STATE].equals("X")) {
        return false; // it has ended, and its parent has not collected it
      }
      return Long.parseLong(columns[SESSION]) == session
          || ("\0" + Files.readString(process.resolve("environ"), StandardCharsets.ISO_8859_1))
              .contains(mark);
    } catch (IOException | RuntimeException e) {
      return false; // it has ended, or it belongs to another account
    }
  }

  private static void rest() {
    try {
      TimeUnit.MILLISECONDS.sleep(ROUND_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
