package org.rackbench.harness.program;

/** A program's output does not have the form in its manifest, or cannot be of this trial. */
final class UnreadableOutput extends Exception {

  private static final int LONGEST = 300;

  UnreadableOutput(String message) {
    super(message.length() > LONGEST ? message.substring(0, LONGEST) + "…" : message);
  }
}
