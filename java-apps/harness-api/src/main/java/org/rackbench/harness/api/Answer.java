package org.rackbench.harness.api;

/**
 * What {@link Caller#verify} found.
 *
 * @param problem what is wrong with the answer, or null when it is right
 * @param requestBytes bytes of the request's body as sent
 * @param responseBytes bytes of the response's body as received
 * @param requestHeaderBytes bytes of the request's headers, or {@link #UNKNOWN}
 * @param responseHeaderBytes bytes of the response's headers, or {@link #UNKNOWN}
 */
public record Answer(
    String problem,
    long requestBytes,
    long responseBytes,
    long requestHeaderBytes,
    long responseHeaderBytes) {

  /** The transport does not show its header bytes. */
  public static final long UNKNOWN = -1;
}
