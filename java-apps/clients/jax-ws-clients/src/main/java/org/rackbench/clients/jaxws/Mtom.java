package org.rackbench.clients.jaxws;

import java.net.URI;
import java.util.Map;
import javax.xml.namespace.QName;
import javax.xml.ws.BindingProvider;
import javax.xml.ws.Service;
import javax.xml.ws.WebServiceFeature;
import javax.xml.ws.soap.MTOMFeature;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Parts;
import org.rackbench.harness.api.Setting;

/**
 * The mtom study on JAX-WS RI: a payload to the first worker and back. Factors {@code encoding}
 * (inline, mtom) and {@code payload_bytes}. For inline, endpoint and client have MTOM off, because
 * with MTOM even an inline payload is sent as a multipart.
 */
public final class Mtom implements Client {

  private static final String NAMESPACE = "urn:rackbench:mtom";

  private Setting setting;
  private String endpoint;
  private QName port;
  private WebServiceFeature[] features;
  private Service service;

  @Override
  public void open(Setting trial) throws Exception {
    // The JDK would retry a failed request once: one slow call instead of one error.
    System.setProperty("sun.net.http.retryPost", "false");
    setting = trial;
    boolean optimised = trial.word("encoding", "inline", "mtom").equals("mtom");
    URI axis = URI.create(trial.lab().workers(1, "axis_url").get(0));
    endpoint = axis.resolve("/mtom/" + (optimised ? "mtom" : "inline")).toString();
    port = new QName(NAMESPACE, optimised ? "Mtom" : "Inline");
    features =
        optimised
            ? new WebServiceFeature[] {new MTOMFeature(true, 0)}
            : new WebServiceFeature[] {new MTOMFeature(false)};
    service =
        Service.create(
            Mtom.class.getResource("Payload.wsdl"), new QName(NAMESPACE, "PayloadService"));
  }

  @Override
  public Caller caller(int thread) {
    BodyBytes bodies = new BodyBytes(Parts.of(setting));
    Payload payload = service.getPort(port, Payload.class, features);
    Map<String, Object> context = ((BindingProvider) payload).getRequestContext();
    int millis = Math.toIntExact(setting.callTimeout().toMillis());
    context.put(BindingProvider.ENDPOINT_ADDRESS_PROPERTY, endpoint);
    context.put("com.sun.xml.ws.connect.timeout", millis);
    context.put("com.sun.xml.ws.request.timeout", millis);
    context.put(BodyBytes.PROPERTY, bodies);
    return new MtomCaller(payload, bodies, setting.integer("payload_bytes"), setting);
  }

  @Override
  public void close() {}
}
