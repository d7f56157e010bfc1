package org.rackbench.clients.noop;

import org.rackbench.harness.Answer;
import org.rackbench.harness.Session;
import org.rackbench.harness.Setting;
import org.rackbench.harness.Workload;

/** The harness study's loop with no call: what the bench itself costs. */
public final class Noop implements Workload, Session {

  private static final Answer RIGHT = new Answer(null, 0, 0, 0, 0);

  @Override
  public void open(Setting setting) {}

  @Override
  public Session session(int thread) {
    return new Noop();
  }

  @Override
  public void prepare(long seq) {}

  @Override
  public void call() {}

  @Override
  public Answer verify() {
    return RIGHT;
  }

  @Override
  public void close() {}
}
