package org.rackbench.clients.sortjms;

import jakarta.jms.DeliveryMode;
import java.nio.file.Path;
import org.rackbench.harness.Lab;
import org.rackbench.harness.Session;
import org.rackbench.harness.Setting;
import org.rackbench.harness.Workload;
import org.rackbench.messaging.Broker;

/**
 * The sort study over JMS queues. Factors {@code servers} and {@code integers}; constants {@code
 * delivery} (persistent, non-persistent) and {@code acknowledge} (auto, client, dups-ok).
 */
public final class SortJms implements Workload {

  private Setting setting;
  private Broker broker;
  private int deliveryMode;
  private String acknowledge;

  @Override
  public void open(Setting trial) {
    Lab lab = trial.lab();
    setting = trial;
    broker =
        new Broker(
            lab.broker("jndi_url"),
            lab.broker("connection_factory"),
            lab.broker("username"),
            Path.of(lab.broker("password_file")));
    acknowledge = trial.word("acknowledge", "auto", "client", "dups-ok");
    deliveryMode =
        trial.word("delivery", "persistent", "non-persistent").equals("persistent")
            ? DeliveryMode.PERSISTENT
            : DeliveryMode.NON_PERSISTENT;
  }

  @Override
  public Session session(int thread) throws Exception {
    return new JmsJobs(setting, broker, deliveryMode, acknowledge);
  }

  @Override
  public void close() {}
}
