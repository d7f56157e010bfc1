package org.rackbench.clients.plain;

import java.net.URI;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Setting;

/**
 * The harness study's smallest real call: GET of one static byte from the first worker's Tomcat.
 * Each thread keeps a connection of its own.
 */
public final class Http implements Client {

  private Setting setting;
  private URI resource;

  @Override
  public void open(Setting trial) {
    setting = trial;
    resource = URI.create(trial.lab().workers(1, "axis_url").get(0) + "/byte");
  }

  @Override
  public Caller caller(int thread) throws Exception {
    return new HttpCaller(resource, setting.callTimeout());
  }

  @Override
  public void close() {}
}
