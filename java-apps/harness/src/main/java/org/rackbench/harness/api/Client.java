package org.rackbench.harness.api;

/**
 * What a client program adds to the harness. Each client directory holds exactly one, named in
 * {@code META-INF/services/org.rackbench.harness.Client}. One instance serves one trial.
 */
public interface Client extends AutoCloseable {

  /**
   * Sets up what all threads share (administered objects, connection pools). Not timed. A thrown
   * exception makes the trial {@code failed}, with the message as its reason.
   */
  void open(Setting setting) throws Exception;

  /** Makes the caller of one client thread, in that thread and before timing. Not timed. */
  Caller caller(int thread) throws Exception;

  @Override
  void close() throws Exception;
}
