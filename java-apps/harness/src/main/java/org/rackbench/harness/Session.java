package org.rackbench.harness;

/**
 * One client thread's side of a {@link Workload}. The harness calls {@code prepare}, {@code call},
 * {@code verify} in this order for every call, all in the thread that made the session. After a
 * call that threw, {@code verify} is left out and the same session goes on with the next {@code
 * prepare}: a session mends itself.
 */
public interface Session extends AutoCloseable {

  /** Makes the input of call {@code seq} (unique within the trial, from 0). Not timed. */
  void prepare(long seq) throws Exception;

  /**
   * The call: the only timed part. A {@link java.util.concurrent.TimeoutException} or {@link
   * java.net.SocketTimeoutException} anywhere in the cause chain makes the row's status {@code
   * timeout}, any other exception {@code error}.
   */
  void call() throws Exception;

  /** Checks the answer of the last call and says how many bytes it took. Not timed. */
  Answer verify() throws Exception;

  @Override
  void close() throws Exception;
}
