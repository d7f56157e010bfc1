package org.rackbench.clients.axis.http;

import java.net.Socket;
import org.apache.axis.MessageContext;
import org.apache.axis.components.net.BooleanHolder;
import org.apache.axis.transport.http.HTTPSender;
import org.apache.axis.transport.http.SocketHolder;
import org.rackbench.harness.api.Part;
import org.rackbench.harness.api.Parts;

/**
 * Axis's HTTP sender on a socket that counts bytes and sends each write at once. Axis creates it by
 * its name in client-config.wsdd.
 */
public final class CountingSender extends HTTPSender {

  /** Name of the {@code Call} property that holds the call's {@link Parts}. */
  public static final String PARTS = "org.rackbench.parts";

  /**
   * Axis ends a request in chunks by two small writes, of 2 and of 5 bytes. Without TCP_NODELAY the
   * second waits until the server acknowledges the first. In some calls Linux delays that
   * acknowledgement by 40 ms.
   */
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
      Socket socket = holder.getSocket();
      socket.setTcpNoDelay(true);
      parts.begin(Part.SERIALISE);
      holder.setSocket(new CountingSocket(socket, wire, parts));
    } else {
      super.getSocket(holder, context, protocol, host, port, timeout, otherHeaders, useFullUrl);
      holder.getSocket().setTcpNoDelay(true);
    }
  }
}
