package org.rackbench.harness.api;

/**
 * A client program, which sends the requests of a study. {@code
 * META-INF/rackbench/programs.properties} of its module names its class. The class has a public
 * constructor without arguments, and one instance of it serves one trial.
 */
public interface Client extends AutoCloseable {

  /**
   * Sets up the resources that all threads share (administered objects, connection pools). Not
   * timed. A thrown exception makes the trial {@code failed}, with the message as its reason.
   */
  void open(Setting setting) throws Exception;

  /**
   * Returns the caller of one client thread. The harness calls it in that thread, before timing.
   *
   * @param thread number of the thread, from 0
   */
  Caller caller(int thread) throws Exception;

  @Override
  void close() throws Exception;
}
