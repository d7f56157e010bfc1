package org.rackbench.clients.axis;

import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Parts;
import org.rackbench.harness.api.Setting;

/**
 * The binding study over HTTP: the service Hello of the first worker's Tomcat. Factors {@code
 * message_bytes} (of the request's envelope) and {@code pooled}.
 */
public final class HelloHttp implements Client {

  private Setting setting;
  private String endpoint;

  @Override
  public void open(Setting trial) {
    setting = trial;
    endpoint = trial.lab().workers(1, "axis_url").get(0) + "/services/Hello";
  }

  @Override
  public Caller caller(int thread) throws Exception {
    return new HelloHttpCaller(
        endpoint,
        setting.integer("message_bytes"),
        setting.flag("pooled"),
        setting.callTimeout(),
        Parts.of(setting));
  }

  @Override
  public void close() {}
}
