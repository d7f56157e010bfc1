package org.rackbench.axisjms;

/** The next step of Axis in an exchange over JMS. Before the first step it writes the envelope. */
public enum Step {
  /** Makes the temporary queue for the answer and its receiver, or removes them. */
  ADMINISTER,
  /** Puts the envelope into a message and hands it to the broker. */
  SEND,
  /** Waits for the answer. */
  WAIT,
  /** Reads the answer out of its message, or parses it. */
  READ
}
