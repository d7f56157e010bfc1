package org.rackbench.clients.axis;

import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Setting;

/**
 * The attachments study over SOAP (Axis on Tomcat), on the first worker. Factors {@code encoding}
 * (xml, xml-multiref, mime, dime) and {@code matrix}.
 */
public final class MatrixSoap implements Client {

  private Setting setting;
  private MatrixEncoding encoding;
  private RestartingService server;

  @Override
  public void open(Setting trial) throws Exception {
    setting = trial;
    encoding = MatrixEncoding.of(trial.word("encoding", "xml", "xml-multiref", "mime", "dime"));
    server =
        new RestartingService(
            trial.lab().workers(1, "axis_url").get(0) + "/services/" + encoding.service);
    server.awaitHealthy();
  }

  @Override
  public Caller caller(int thread) throws Exception {
    return new MatrixSoapCaller(setting, encoding, server);
  }

  /**
   * Waits until a server that this trial has brought down is up again, so that the next trial finds
   * it.
   */
  @Override
  public void close() throws Exception {
    if (server.wasLost()) {
      server.awaitHealthy();
    }
  }
}
