package org.rackbench.clients.axis;

import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Parts;
import org.rackbench.harness.api.Setting;

/**
 * The overhead study over SOAP/HTTP (Axis on Tomcat): a request of one byte to the first worker,
 * and a reply of m bytes in p elements. Factors {@code reply_bytes} and {@code elements}.
 */
public final class OverheadSoap implements Client {

  private Setting setting;
  private String endpoint;

  @Override
  public void open(Setting trial) {
    setting = trial;
    endpoint = trial.lab().workers(1, "axis_url").get(0) + "/services/Reply";
  }

  @Override
  public Caller caller(int thread) throws Exception {
    return new OverheadSoapCaller(
        endpoint,
        setting.integer("reply_bytes"),
        setting.integer("elements"),
        setting.callTimeout(),
        Parts.of(setting));
  }

  @Override
  public void close() {}
}
