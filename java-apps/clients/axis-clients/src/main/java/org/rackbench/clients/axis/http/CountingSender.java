package org.rackbench.clients.axis.http;

import java.net.Socket;
import org.apache.axis.MessageContext;
import org.apache.axis.components.net.BooleanHolder;
import org.apache.axis.transport.http.HTTPSender;
import org.apache.axis.transport.http.SocketHolder;

/**
 * Axis's HTTP sender on a socket that counts bytes. Axis creates it by its name in
 * client-config.wsdd.
 */
public final class CountingSender extends HTTPSender {

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
    super.getSocket(holder, context, protocol, host, port, timeout, otherHeaders, useFullUrl);
    if (context.getProperty(WireBytes.PROPERTY) instanceof WireBytes wire) {
      Socket socket = holder.getSocket();
      holder.setSocket(new CountingSocket(socket, wire));
    }
  }
}
