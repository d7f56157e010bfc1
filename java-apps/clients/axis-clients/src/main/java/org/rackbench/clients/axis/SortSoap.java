package org.rackbench.clients.axis;

import java.util.List;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Setting;

/** The sort study over SOAP RPC (Axis on Tomcat). Factors {@code servers} and {@code integers}. */
public final class SortSoap implements Client {

  private Setting setting;
  private List<String> endpoints;

  @Override
  public void open(Setting trial) {
    setting = trial;
    endpoints =
        trial.lab().workers(trial.integer("servers"), "axis_url").stream()
            .map(url -> url + "/services/Sort")
            .toList();
  }

  @Override
  public Caller caller(int thread) throws Exception {
    return new SortSoapCaller(setting, endpoints);
  }

  @Override
  public void close() {}
}
