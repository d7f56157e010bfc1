package org.rackbench.harness.program;

/**
 * A call that a program made.
 *
 * @param isWarmup whether it does not count
 * @param thread number of the thread that made it, or {@link #NONE}
 * @param due when it was due, in nanoseconds since 1970, or {@link #NONE}
 * @param start when it was sent, in nanoseconds since 1970
 * @param elapsed nanoseconds until its answer
 * @param requestBytes size of the request, or {@link #NONE}
 * @param responseBytes size of the response, or {@link #NONE}
 * @param status {@code ok}, {@code error}, {@code wrong} or {@code timeout}
 * @param text why it is not ok
 */
record Call(
    boolean isWarmup,
    int thread,
    long due,
    long start,
    long elapsed,
    long requestBytes,
    long responseBytes,
    String status,
    String text) {

  static final int NONE = -1;

  static final String OK = "ok";

  boolean isOk() {
    return status.equals(OK);
  }
}
