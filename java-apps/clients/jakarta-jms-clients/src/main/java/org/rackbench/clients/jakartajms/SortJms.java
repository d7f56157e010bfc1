package org.rackbench.clients.jakartajms;

import java.util.List;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Setting;
import org.rackbench.workloads.sorting.SortQueues;

/**
 * The sort study over JMS queues. Factors {@code servers} and {@code integers}; constants as in
 * {@link QueueCaller}.
 */
public final class SortJms implements Client {

  private Setting setting;
  private List<String> pool;

  @Override
  public void open(Setting trial) {
    setting = trial;
    pool = trial.lab().workers(trial.integer("servers"), "name");
  }

  @Override
  public Caller caller(int thread) throws Exception {
    return new SortJmsCaller(
        setting, RequestQueue.lookUp(setting.lab(), SortQueues.pool(pool.size())), pool);
  }

  @Override
  public void close() {}
}
