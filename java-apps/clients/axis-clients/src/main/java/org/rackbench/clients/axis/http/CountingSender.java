package org.rackbench.clients.axis.http;

import java.net.Socket;
import org.apache.axis.MessageContext;
import org.apache.axis.components.net.BooleanHolder;
import org.apache.axis.transport.http.HTTPSender;
import org.apache.axis.transport.http.SocketHolder;
import org.rackbench.harness.api.Part;
import org.rackbench.harness.api.Parts;

/**
 * Axis's HTTP sender on a socket that counts bytes. Axis creates it by its name in
 * client-config.wsdd.
 */
public final class CountingSender extends HTTPSender {

  /** Name of the {@code Call} property that holds the call's {@link Parts}. */
  public static final String PARTS = "org.rackbench.parts";

  @Override
  protected void getSocket(
      SocketHolder holder,
      MessageContext context,
      String protocol,
      String host,
      int port,
      int timeout,
      StringBuffer otherHeaders,
      BooleanHolder useFullUrl)
      throws Exception {
    if (context.getProperty(WireBytes.PROPERTY) instanceof WireBytes wire
        && context.getProperty(PARTS) instanceof Parts parts) {
      parts.begin(Part.REST);
      super.getSocket(holder, context, protocol, host, port, timeout, otherHeaders, useFullUrl);
      parts.begin(Part.SERIALISE);
      Socket socket = holder.getSocket();
      holder.setSocket(new CountingSocket(socket, wire, parts));
    } else {
      super.getSocket(holder, context, protocol, host, port, timeout, otherHeaders, useFullUrl);
    }
  }
}
