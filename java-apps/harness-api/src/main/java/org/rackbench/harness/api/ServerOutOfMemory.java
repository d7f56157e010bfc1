package org.rackbench.harness.api;

/**
 * A server answered that it ran out of memory. Thrown in a {@link Caller}, this error ends the
 * trial as {@code oom}, as if the client itself had run out of memory, and the reason names the
 * server.
 */
public final class ServerOutOfMemory extends OutOfMemoryError {

  private static final long serialVersionUID = 1;
  private static final String BEGINNING = "outcome oom: the server ";

  private ServerOutOfMemory(String message) {
    super(message);
  }

  /**
   * Prints the error and returns it, to be thrown. The printed line is the last one of the trial's
   * log, because the JVM is then halted.
   *
   * @param server address of the server, or its URL
   * @param answer its message
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
