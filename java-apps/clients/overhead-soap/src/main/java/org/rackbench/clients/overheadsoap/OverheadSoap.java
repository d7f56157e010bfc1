package org.rackbench.clients.overheadsoap;

import org.rackbench.harness.Session;
import org.rackbench.harness.Setting;
import org.rackbench.harness.Workload;

/**
 * The overhead study over SOAP/HTTP (Axis on Tomcat): one byte to the first worker, m bytes in p
 * elements back. Factors {@code reply_bytes} and {@code elements}.
 */
public final class OverheadSoap implements Workload {

  private Setting setting;
  private String endpoint;

  @Override
  public void open(Setting trial) {
    setting = trial;
    endpoint = trial.lab().workers(1, "axis_url").get(0) + "/services/Reply";
  }

  @Override
  public Session session(int thread) throws Exception {
    return new SoapRequests(
        endpoint,
        setting.integer("reply_bytes"),
        setting.integer("elements"),
        setting.callTimeout());
  }

  @Override
  public void close() {}
}
