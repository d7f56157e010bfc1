package org.rackbench.clients.axis;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.concurrent.atomic.AtomicInteger;

/** Forwards connections to a server, and counts them. */
final class Relay implements AutoCloseable {

  private final URI server;
  private final ServerSocket entrance = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  private final AtomicInteger connections = new AtomicInteger();

  Relay(String url) throws IOException {
    server = URI.create(url);
    new Thread(this::accept).start();
  }

  /** Returns the server's URL with the port of this relay. */
  String url() {
    return server.toString().replace(":" + server.getPort(), ":" + entrance.getLocalPort());
  }

  int connections() {
    return connections.get();
  }

  private void accept() {
    try {
      while (true) {
        Socket client = entrance.accept();
        connections.incrementAndGet();
        Socket there = new Socket(InetAddress.getLoopbackAddress(), server.getPort());
        new Thread(() -> pump(client, there)).start();
        new Thread(() -> pump(there, client)).start();
      }
    } catch (IOException e) {
      // closed
    }
  }

  private static void pump(Socket from, Socket to) {
    try (from;
        to) {
      from.getInputStream().transferTo(to.getOutputStream());
    } catch (IOException e) {
      // the other pump has closed both
    }
  }

  @Override
  public void close() throws IOException {
    entrance.close();
  }
}
