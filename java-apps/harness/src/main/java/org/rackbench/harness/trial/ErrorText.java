package org.rackbench.harness.trial;

/** The text of an error as logs and records show it. */
public final class ErrorText {

  private ErrorText() {}

  /** Returns the type and the message of {@code e}, or the full type name without a message. */
  public static String of(Throwable e) {
    String message = e.getMessage();
    return message == null || message.isBlank()
        ? e.getClass().getName()
        : e.getClass().getSimpleName() + ": " + message;
  }
}
