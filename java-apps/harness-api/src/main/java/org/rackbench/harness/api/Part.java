package org.rackbench.harness.api;

/**
 * A part of the time of a call. docs/explain/fairness.md defines for each client where its parts
 * begin and end.
 */
public enum Part {
  /** The rest, such as opening a connection. It is not logged but calculated from the others. */
  REST,
  /** Makes the bytes of the request. */
  SERIALISE,
  /** Hands the request over: to the system, or to the broker. */
  SEND,
  /** Waits for the answer, or for the next piece of it. */
  WAIT,
  /** Turns the bytes of the answer into values. */
  PARSE
}
