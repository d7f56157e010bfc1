package org.rackbench.clients.sortjms;

import java.util.List;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Setting;
import org.rackbench.messaging.Broker;

/**
 * The sort study over JMS queues. Factors {@code servers} and {@code integers}; constants {@code
 * delivery} (persistent, non-persistent) and {@code acknowledge} (auto, client, dups-ok).
 */
public final class SortJms implements Client {

  private Setting setting;
  private Broker broker;
  private List<String> pool;
  private int deliveryMode;
  private String acknowledge;

  @Override
  public void open(Setting trial) {
    setting = trial;
    broker = Broker.of(trial.lab()::broker);
    pool = trial.lab().workers(trial.integer("servers"), "name");
    acknowledge = trial.word("acknowledge", "auto", "client", "dups-ok");
    deliveryMode = Broker.deliveryMode(trial.word("delivery", "persistent", "non-persistent"));
  }

  @Override
  public Caller caller(int thread) throws Exception {
    return new JmsJobs(setting, broker, pool, deliveryMode, acknowledge);
  }

  @Override
  public void close() {}
}
