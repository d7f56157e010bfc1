package org.rackbench.harness.api;

/**
 * A client program: what sends the requests of a study. Its class is named in {@code
 * META-INF/rackbench/programs.properties} of its module, has a public constructor without
 * arguments, and one instance of it serves one trial.
 */
public interface Client extends AutoCloseable {

  /**
   * Sets up what all threads share (administered objects, connection pools). Not timed. A thrown
   * exception makes the trial {@code failed}, with the message as its reason.
   */
  void open(Setting setting) throws Exception;

  /**
   * Returns the caller of one client thread. Called in that thread, before timing. Not timed.
   *
   * @param thread number of the thread, from 0
   */
  Caller caller(int thread) throws Exception;

  @Override
  void close() throws Exception;
}
