package org.rackbench.harness.api;

/**
 * A part of the time of a call. Docs/fairness.md says for each client where its parts begin and
 * end.
 */
public enum Part {
  /** None of the others, such as opening a connection. It is not logged: it is what is left. */
  REST,
  /** Makes the bytes of the request. */
  SERIALISE,
  /** Hands the request over: to the system, or to the broker. */
  SEND,
  /** Waits for the answer, or for the next piece of it. */
  WAIT,
  /** Makes values of the bytes of the answer. */
  PARSE
}
