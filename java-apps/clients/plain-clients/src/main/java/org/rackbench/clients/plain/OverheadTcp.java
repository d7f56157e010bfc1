package org.rackbench.clients.plain;

import java.net.InetSocketAddress;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Lab;
import org.rackbench.harness.api.Setting;

/**
 * The overhead study over plain TCP: a request of one byte to the first worker, and a reply of m
 * bytes. Factor {@code reply_bytes}.
 */
public final class OverheadTcp implements Client {

  private Setting setting;
  private InetSocketAddress server;

  @Override
  public void open(Setting trial) {
    setting = trial;
    Lab lab = trial.lab();
    server =
        new InetSocketAddress(
            lab.workers(1, "address").get(0), Integer.parseInt(lab.workers(1, "tcp_port").get(0)));
  }

  @Override
  public Caller caller(int thread) throws Exception {
    return new OverheadTcpCaller(server, setting.integer("reply_bytes"), setting.callTimeout());
  }

  @Override
  public void close() {}
}
