package org.rackbench.harness.api;

/**
 * One client thread's side of a {@link Client}. For every call the harness calls {@code prepare},
 * {@code call} and {@code verify} in this order, all in the thread that made the caller. After a
 * call that threw, the harness skips {@code verify} and continues with the next {@code prepare} of
 * the same caller. That {@code prepare} must repair the damage of the failed call, such as a closed
 * connection.
 */
public interface Caller extends AutoCloseable {

  /**
   * Makes the input of call {@code seq}. Not timed. The number is unique within the trial. The same
   * measured call has the same number in all trials of a block that have the same number of threads
   * and the same {@code warmup.most}.
   */
  void prepare(long seq) throws Exception;

  /**
   * The call: the only timed part. A {@link java.util.concurrent.TimeoutException} or {@link
   * java.net.SocketTimeoutException} anywhere in the cause chain makes the row's status {@code
   * timeout}, any other exception {@code error}.
   */
  void call() throws Exception;

  /**
   * Checks the answer of the last call and returns what is wrong with it and its sizes. Not timed.
   */
  Answer verify() throws Exception;

  /**
   * Returns the parts of the last call, after {@link #verify}; null if the client marks none. Not
   * timed.
   */
  default Parts parts() {
    return null;
  }

  @Override
  void close() throws Exception;
}
