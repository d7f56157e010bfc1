package org.rackbench.clients.matrixjms;

import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Setting;
import org.rackbench.messaging.Broker;

/**
 * The attachments study over a JMS queue of the first worker, our level. Factor {@code matrix};
 * constants {@code delivery} (persistent, non-persistent) and {@code acknowledge} (auto, client,
 * dups-ok).
 */
public final class MatrixJms implements Client {

  private Setting setting;
  private Broker broker;
  private String queue;
  private int deliveryMode;

  @Override
  public void open(Setting trial) {
    setting = trial;
    broker = Broker.of(trial.lab()::broker);
    queue = trial.lab().workers(1, "matrix_queue").get(0);
    deliveryMode = Broker.deliveryMode(trial.word("delivery", "persistent", "non-persistent"));
  }

  @Override
  public Caller caller(int thread) throws Exception {
    String acknowledge = setting.word("acknowledge", "auto", "client", "dups-ok");
    return new MatrixMessages(setting, broker, queue, deliveryMode, acknowledge);
  }

  @Override
  public void close() {}
}
