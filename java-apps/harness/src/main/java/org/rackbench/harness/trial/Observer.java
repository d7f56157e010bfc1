package org.rackbench.harness.trial;

/**
 * Observes the measured phase of a trial from outside its calls. A separate thread notifies it
 * while all client threads go on with uncounted calls, so it may take its time and no thread waits
 * for it.
 */
public interface Observer {

  /** Called when all threads are warm and none has begun to measure. */
  default void before() {}

  /** Called when all threads have made their measured calls. */
  default void after() {}
}
