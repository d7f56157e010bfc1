package org.rackbench.harness.program;

/** A program's output does not have the form in its manifest, or cannot be of this trial. */
final class UnreadableOutput extends Exception {

  private static final int LONGEST = 300;

  UnreadableOutput(String message) {
    super(message.length() > LONGEST ? message.substring(0, LONGEST) + "…" : message);
  }

  /**
   * Returns the refusal of an output that a kill or a full disk may have cut.
   *
   * @param line name of the line without an end, with which the message begins
   */
  static UnreadableOutput cut(String line) {
    return new UnreadableOutput(
        line + " does not end and may be cut; let the command end each line and flush its output");
  }
}
