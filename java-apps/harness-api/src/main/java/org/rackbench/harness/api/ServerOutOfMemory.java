package org.rackbench.harness.api;

/**
 * A server that answers that it ran out of memory. Thrown in a {@link Caller}, it ends the trial as
 * {@code oom}, as a lack of memory of the client's own does, with the server in the reason.
 */
public final class ServerOutOfMemory extends OutOfMemoryError {

  private static final long serialVersionUID = 1;
  private static final String BEGINNING = "outcome oom: the server ";

  private ServerOutOfMemory(String message) {
    super(message);
  }

  /**
   * Returns the error to throw, after it is printed: the line is the last one of the trial's log,
   * as the JVM is halted.
   *
   * @param server address of the server, or its URL
   * @param answer what it said
   */
  public static ServerOutOfMemory printed(String server, String answer) {
    String line =
        "%s%s ran out of memory: %s"
            .formatted(BEGINNING, server, answer.strip().lines().findFirst().orElse(""));
    System.err.println(line);
    return new ServerOutOfMemory(line);
  }

  /**
   * Returns the reason of a trial that ran out of memory.
   *
   * @param lastLine the last line of its log
   * @param otherwise the reason if no server is named there
   */
  public static String reason(String lastLine, String otherwise) {
    return lastLine.startsWith(BEGINNING)
        ? lastLine.substring(BEGINNING.indexOf("the server"))
        : otherwise;
  }
}
