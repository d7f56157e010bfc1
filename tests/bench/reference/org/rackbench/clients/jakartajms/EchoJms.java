package org.rackbench.clients.jakartajms;

import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Setting;

/**
 * rackbench's request and reply over a queue of the first worker, with no work but that. Constant
 * {@code message_bytes}; the others as in {@link QueueCaller}.
 */
public final class EchoJms implements Client {

  private Setting setting;

  @Override
  public void open(Setting trial) {
    setting = trial;
  }

  @Override
  public Caller caller(int thread) throws Exception {
    String queue = setting.lab().workers(1, "matrix_queue").get(0);
    return new EchoJmsCaller(setting, RequestQueue.lookUp(setting.lab(), queue));
  }

  @Override
  public void close() {}
}
