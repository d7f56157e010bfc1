package org.rackbench.clients.jakartajms;

import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Setting;

/**
 * The attachments study over a JMS queue of the first worker, a level that the paper does not have.
 * Factor {@code matrix}; constants as in {@link QueueCaller}.
 */
public final class MatrixJms implements Client {

  private Setting setting;
  private String queue;

  @Override
  public void open(Setting trial) {
    setting = trial;
    queue = trial.lab().workers(1, "matrix_queue").get(0);
  }

  @Override
  public Caller caller(int thread) throws Exception {
    return new MatrixJmsCaller(setting, RequestQueue.lookUp(setting.lab(), queue));
  }

  @Override
  public void close() {}
}
