package org.rackbench.harness.trial;

/** The text of an error as logs and records show it. */
public final class ErrorText {

  /** The system's message for a connection for which no port is free. */
  private static final String NO_PORT = "Cannot assign requested address";

  /** A chain of causes may be a ring. */
  private static final int MOST_CAUSES = 20;

  private static final String OUT_OF_PORTS =
      " (the client ran out of ports: Linux keeps those of closed connections for 60 s. This is no"
          + " fault of the service. Run site.yml, which sets baseline_port_range and"
          + " baseline_tcp_tw_reuse)";

  private ErrorText() {}

  /**
   * Returns the type and the message of {@code e}, or its full type name if it has no message. If
   * the client had no port for a connection, the text adds the cause and the next step.
   */
  public static String of(Throwable e) {
    String message = e.getMessage();
    String text =
        message == null || message.isBlank()
            ? e.getClass().getName()
            : e.getClass().getSimpleName() + ": " + message;
    return isOutOfPorts(e) ? text + OUT_OF_PORTS : text;
  }

  /** Searches the causes, because each transport wraps the system's error in its own way. */
  private static boolean isOutOfPorts(Throwable e) {
    int depth = 0;
    for (Throwable each = e; each != null && depth < MOST_CAUSES; each = each.getCause()) {
      if (each.getMessage() != null && each.getMessage().contains(NO_PORT)) {
        return true;
      }
      depth++;
    }
    return false;
  }
}
