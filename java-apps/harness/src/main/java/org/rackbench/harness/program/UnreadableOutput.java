package org.rackbench.harness.program;

/** What a program left is not of the form that its manifest names, or cannot be of this trial. */
final class UnreadableOutput extends Exception {

  private static final int LONGEST = 300;

  UnreadableOutput(String message) {
    super(message.length() > LONGEST ? message.substring(0, LONGEST) + "…" : message);
  }
}
