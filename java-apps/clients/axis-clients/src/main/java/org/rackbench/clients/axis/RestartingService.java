package org.rackbench.clients.axis;

import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import org.rackbench.harness.api.ServerOutOfMemory;

/** A service that may run out of memory, end, and be restarted by its supervisor. */
final class RestartingService {

  private static final Duration RESTART = Duration.ofSeconds(60);
  private static final Duration LOOK = Duration.ofSeconds(5);
  private static final int PAUSE_MILLIS = 200;

  // Axis's message when the connection ends before any answer: HTTP status 0, no text
  private static final String NO_ANSWER = "(0)null";

  private final String endpoint;
  private volatile boolean lost;

  RestartingService(String endpoint) {
    this.endpoint = endpoint;
  }

  String endpoint() {
    return endpoint;
  }

  boolean wasLost() {
    return lost;
  }

  /**
   * Waits until the service serves its WSDL; throws IOException if it does not within {@link
   * #RESTART}.
   */
  void awaitHealthy() throws IOException, InterruptedException {
    HttpClient http =
        HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(LOOK).build();
    HttpRequest look = HttpRequest.newBuilder(URI.create(endpoint + "?wsdl")).timeout(LOOK).build();
    long end = System.nanoTime() + RESTART.toNanos();
    while (true) {
      String trouble;
      try {
        int status = http.send(look, BodyHandlers.discarding()).statusCode();
        if (status == 200) {
          return;
        }
        trouble = "HTTP status " + status;
      } catch (IOException e) {
        trouble = e.toString();
      }
      if (System.nanoTime() > end) {
        throw new IOException(
            "%s has not been healthy for %d s (%s); look at Tomcat's journal on that worker"
                .formatted(endpoint, RESTART.toSeconds(), trouble));
      }
      Thread.sleep(PAUSE_MILLIS);
    }
  }

  /**
   * Throws ServerOutOfMemory if the server answered that it is out of memory, and IOException if it
   * is gone, as it is after running out of memory. Otherwise it returns, even if this JVM is out of
   * memory.
   */
  void explain(Exception failure) throws IOException {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof OutOfMemoryError) {
        return;
      }
      String text = cause.toString();
      if (text.contains("OutOfMemoryError") || text.contains("Java heap space")) {
        throw ServerOutOfMemory.printed(endpoint, text);
      }
      if (cause instanceof ConnectException) {
        lost = true;
        throw new IOException(
            endpoint + " does not answer; it may be restarting, see its journal", failure);
      }
      if (cause instanceof SocketException || text.contains(NO_ANSWER)) {
        lost = true;
        throw new IOException(
            endpoint
                + " closed the connection within the call, as it does when it runs out of memory: "
                + text,
            failure);
      }
    }
  }
}
