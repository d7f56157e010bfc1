package org.rackbench.clients.axisjms;

import java.io.IOException;
import javax.jms.DeliveryMode;
import javax.naming.NamingException;
import org.rackbench.axisjms.BrokerClient;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Lab;
import org.rackbench.harness.api.Setting;
import org.rackbench.workloads.program.BrokerAccount;

/**
 * The binding study over JMS: the service Hello behind the first worker's queue, by Axis's own JMS
 * transport. Factors {@code message_bytes} (of the request's envelope) and {@code pooled}.
 * Constants {@code persistence} (none, written, synced; it applies to requests, as Axis's answers
 * are never persistent) and {@code acknowledge} (dups-ok, the only mode that Axis has).
 */
public final class HelloJms implements Client {

  private Setting setting;
  private BrokerClient broker;
  private int deliveryMode;

  @Override
  public void open(Setting trial) throws NamingException, IOException {
    Lab lab = trial.lab();
    setting = trial;
    BrokerAccount.limitWaits(trial.callTimeout());
    broker =
        BrokerClient.lookUp(BrokerAccount.of(lab::broker), lab.workers(1, "hello_queue").get(0));
    trial.word("acknowledge", "dups-ok");
    deliveryMode = trial.isPersistent() ? DeliveryMode.PERSISTENT : DeliveryMode.NON_PERSISTENT;
  }

  @Override
  public Caller caller(int thread) throws Exception {
    return new HelloJmsCaller(setting, broker, deliveryMode);
  }

  @Override
  public void close() {}
}
