package org.rackbench.clients.sortsoap;

import java.util.List;
import org.rackbench.harness.Session;
import org.rackbench.harness.Setting;
import org.rackbench.harness.Workload;

/** The sort study over SOAP RPC (Axis on Tomcat). Factors {@code servers} and {@code integers}. */
public final class SortSoap implements Workload {

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
  public Session session(int thread) throws Exception {
    return new SoapJobs(setting, endpoints);
  }

  @Override
  public void close() {}
}
