package org.rackbench.clients.plain;

import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Setting;

/**
 * The client of the harness study whose calls do nothing: it measures the cost of the bench itself.
 */
public final class Noop implements Client, Caller {

  private static final Answer RIGHT = new Answer(null, 0, 0, 0, 0);

  @Override
  public void open(Setting setting) {}

  @Override
  public Caller caller(int thread) {
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
