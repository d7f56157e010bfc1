package org.rackbench.harness.trial;

/**
 * What looks at the measured phase of a trial from outside its calls. It is told in a thread of its
 * own while all client threads go on with uncounted calls, so it may take its time and no thread
 * waits for it.
 */
public interface Observer {

  /** All threads are warm; none has begun to measure. */
  default void before() {}

  /** All threads have made their measured calls. */
  default void after() {}
}
