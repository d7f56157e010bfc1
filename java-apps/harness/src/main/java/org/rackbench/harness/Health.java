package org.rackbench.harness;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Asks the nodes of a trial how they are, all at once, by the health socket that every node has.
 */
final class Health {

  private static final int CONNECT_MS = 3000;
  private static final int READ_MS = 10_000;

  private final Lab lab;
  private final Path run;
  private final int freeMegabytes;
  private final Set<String> leftOut;
  private final ExecutorService asking = Executors.newCachedThreadPool(Health::daemon);

  /**
   * @param run the run's directory, on whose file system trials are written
   * @param freeMegabytes room that this node and the servers must have, in MiB
   * @param leftOut names of servers that are not used, whatever they would answer
   */
  Health(Lab lab, Path run, int freeMegabytes, Set<String> leftOut) {
    this.lab = lab;
    this.run = run;
    this.freeMegabytes = freeMegabytes;
    this.leftOut = leftOut;
  }

  /** Asks the client and every server of {@code trial} once; an answer that fails is a problem. */
  Look look(PlannedTrial trial) throws IOException {
    Look look = new Look(freeMegabytes);
    long free = Files.getFileStore(run).getUsableSpace() >> 20;
    if (free < freeMegabytes) {
      look.problem(
          "this node", "%s has %d MiB free, %d are asked for".formatted(run, free, freeMegabytes));
    }
    if (lab.healthPort() == 0) {
      return look;
    }
    Map<Server, CompletableFuture<Map<String, Object>>> asked = new LinkedHashMap<>();
    for (Server server : lab.servers(trial)) {
      if (leftOut.contains(server.name())) {
        look.leftOut(server);
      } else {
        asked.put(server, askBeside(server));
      }
    }
    Optional<CompletableFuture<Map<String, Object>>> client = lab.client().map(this::askBeside);
    asked.forEach(
        (server, answer) -> {
          try {
            look.server(server, of(answer));
          } catch (IOException | BadInput e) {
            look.unreachable(server, MeasuringLoop.text(e));
          }
        });
    if (client.isPresent()) {
      try {
        look.client(lab.client().get().name(), of(client.get()));
      } catch (IOException | BadInput e) {
        // its report only says what may have disturbed the trial
      }
    }
    return look;
  }

  private CompletableFuture<Map<String, Object>> askBeside(Server server) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return ask(server.address());
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        },
        asking);
  }

  /** Waits for an answer, as long as its timeouts allow. */
  private static Map<String, Object> of(CompletableFuture<Map<String, Object>> answer)
      throws IOException {
    try {
      return answer.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof UncheckedIOException failed) {
        throw failed.getCause();
      }
      throw e.getCause() instanceof BadInput bad ? bad : e;
    }
  }

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "health");
    thread.setDaemon(true);
    return thread;
  }

  private Map<String, Object> ask(String address) throws IOException {
    HttpURLConnection connection = connection(address, "/");
    try (InputStream answer = connection.getInputStream()) {
      String text = new String(answer.readAllBytes(), StandardCharsets.UTF_8);
      return new LinkedHashMap<>(Json.parse(text, connection.getURL().toString()));
    } finally {
      connection.disconnect();
    }
  }

  /** Asks the node to restart a service if that hangs; what comes of it the next looks tell. */
  void askForRestart(Server server, String service) {
    try {
      HttpURLConnection connection = connection(server.address(), "/restart/" + service);
      connection.setRequestMethod("POST");
      System.out.printf(
          "%s on %s: the node said %d%n", service, server.name(), connection.getResponseCode());
      connection.disconnect();
    } catch (IOException e) {
      System.out.printf("%s on %s: %s%n", service, server.name(), MeasuringLoop.text(e));
    }
  }

  private HttpURLConnection connection(String address, String path) throws IOException {
    URI uri = URI.create("http://%s:%d%s".formatted(address, lab.healthPort(), path));
    HttpURLConnection connection = (HttpURLConnection) uri.toURL().openConnection();
    connection.setConnectTimeout(CONNECT_MS);
    connection.setReadTimeout(READ_MS);
    return connection;
  }
}
