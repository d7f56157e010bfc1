package org.rackbench.clients.axis.http;

import java.net.URL;
import org.apache.axis.AxisFault;
import org.apache.axis.MessageContext;
import org.apache.axis.transport.http.CommonsHTTPSender;
import org.apache.commons.httpclient.HostConfiguration;
import org.apache.commons.httpclient.HttpClient;
import org.apache.commons.httpclient.HttpMethodRetryHandler;
import org.apache.commons.httpclient.params.HttpMethodParams;

/**
 * Axis's sender over Commons HttpClient, on the {@link KeptConnection} of the call. Axis creates it
 * by its name in kept-config.wsdd.
 */
public final class KeptSender extends CommonsHTTPSender {

  private static final long serialVersionUID = 1;

  // With an automatic retry a failed request would be one slow call instead of one error.
  private static final HttpMethodRetryHandler NEVER = (method, exception, count) -> false;

  @Override
  public void invoke(MessageContext context) throws AxisFault {
    if (!(context.getProperty(KeptConnection.PROPERTY) instanceof KeptConnection kept)) {
      throw new AxisFault("the call has no property " + KeptConnection.PROPERTY);
    }
    connectionManager = kept;
    super.invoke(context);
  }

  @Override
  protected HostConfiguration getHostConfiguration(
      HttpClient client, MessageContext context, URL url) {
    HostConfiguration host = super.getHostConfiguration(client, context, url);
    host.getParams().setParameter(HttpMethodParams.RETRY_HANDLER, NEVER);
    return host;
  }
}
