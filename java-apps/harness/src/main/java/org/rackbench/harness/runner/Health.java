package org.rackbench.harness.runner;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.rackbench.harness.trial.BadInput;
import org.rackbench.harness.trial.ErrorText;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.PlannedTrial;

/** Polls the health of all nodes of a trial in parallel, by the health socket of each node. */
final class Health {

  private static final int CONNECT_MS = 3000;
  private static final int READ_MS = 10_000;

  /** Longest time to write and send the profiles of a node. */
  private static final int PROFILE_MS = 40_000;

  /** Path that reports a node's health without keeping its sampling alive. */
  private static final String UNOBSERVED = "/?observe=none";

  private static final String SIGNATURE = "HmacSHA256";

  /** A node's report of itself, or the reason why there is none. */
  private record NodeReport(Map<String, Object> report, String reason) {

    boolean isThere() {
      return report != null;
    }
  }

  private final ServingNodes nodes;
  private final Path run;
  private final int freeMegabytes;
  private final Set<String> leftOut;
  private final ExecutorService asking = Daemons.pool("health");

  /**
   * @param run the run's directory, on whose file system trials are written
   * @param freeMegabytes free disk space that this node and the servers must have, in MiB
   * @param leftOut names of servers that are not used and not asked
   */
  Health(ServingNodes nodes, Path run, int freeMegabytes, Set<String> leftOut) {
    this.nodes = nodes;
    this.run = run;
    this.freeMegabytes = freeMegabytes;
    this.leftOut = leftOut;
  }

  /**
   * Polls the client and every server of {@code trial} once. A server that does not answer becomes
   * a problem of the returned {@link Look}.
   */
  Look look(PlannedTrial trial) throws IOException {
    Look look = new Look(freeMegabytes);
    long free = Files.getFileStore(run).getUsableSpace() >> 20;
    if (free < freeMegabytes) {
      look.problem(
          "this node", "%s has %d MiB free, %d are needed".formatted(run, free, freeMegabytes));
    }
    if (nodes.healthPort() == 0) {
      return look;
    }
    String path = trial.isObserved() ? "/" : UNOBSERVED;
    Map<ServingNode, CompletableFuture<NodeReport>> asked = new LinkedHashMap<>();
    for (ServingNode server : nodes.of(trial)) {
      if (leftOut.contains(server.name())) {
        look.leftOut(server);
      } else {
        asked.put(server, askBeside(server, path));
      }
    }
    Optional<CompletableFuture<NodeReport>> client =
        nodes.client().map(node -> askBeside(node, path));
    asked.forEach(
        (server, answer) -> {
          if (answer.join().isThere()) {
            look.server(server, answer.join().report());
          } else {
            look.unreachable(server, answer.join().reason());
          }
        });
    // Without the client's report, only the record of disturbances is incomplete.
    client
        .map(CompletableFuture::join)
        .filter(NodeReport::isThere)
        .ifPresent(answer -> look.client(nodes.client().get().name(), answer.report()));
    return look;
  }

  private CompletableFuture<NodeReport> askBeside(ServingNode server, String path) {
    return CompletableFuture.supplyAsync(() -> ask(server.address(), path), asking);
  }

  /**
   * Returns the settings of the services on a node, by name, and those of its kernel by the name
   * {@code node}; empty if the node does not report them, for example because an earlier version
   * provisioned it.
   *
   * @param sysctls names of the kernel's parameters that are wanted
   */
  CompletableFuture<Map<?, ?>> settings(ServingNode server, List<String> sysctls) {
    String query = sysctls.isEmpty() ? "" : "?sysctl=" + String.join("&sysctl=", sysctls);
    return CompletableFuture.supplyAsync(
        () -> {
          NodeReport told = ask(server.address(), "/settings" + query);
          return told.isThere() ? Look.object(told.report().get("settings")) : Map.of();
        },
        asking);
  }

  /** Returns the name of the client node, or "" if the lab file does not name it. */
  String clientName() {
    return nodes.client().map(ServingNode::name).orElse("");
  }

  /** Returns the nodes to poll for {@code trial}, by name, including the client. */
  Map<String, ServingNode> nodes(PlannedTrial trial) {
    Map<String, ServingNode> found = new LinkedHashMap<>();
    if (nodes.healthPort() != 0) {
      nodes.client().ifPresent(client -> found.put(client.name(), client));
      nodes.of(trial).forEach(server -> found.put(server.name(), server));
    }
    return found;
  }

  /**
   * Asks a node for the resources used there since a moment.
   *
   * @param since that moment in nanoseconds of the node's own clock
   * @param most approximate number of samples wanted of each service
   */
  CompletableFuture<Resources.Told> used(ServingNode server, long since, int most) {
    // Not %d, which writes the digits of the locale.
    String path = "/resources?since=%s&most=%s".formatted(since, most);
    return CompletableFuture.supplyAsync(
        () -> {
          long askedAt = System.nanoTime();
          NodeReport told = ask(server.address(), path);
          return told.isThere()
              ? new Resources.Told(told.report(), "", askedAt, System.nanoTime())
              : Resources.Told.missing("it does not answer: " + told.reason());
        },
        asking);
  }

  /** Has a node sampled now and ignores its answer. */
  CompletableFuture<?> sample(ServingNode server) {
    return CompletableFuture.supplyAsync(() -> ask(server.address(), "/sample"), asking);
  }

  private NodeReport ask(String address, String path) {
    try {
      HttpURLConnection connection = connection(address, path);
      try (InputStream answer = connection.getInputStream()) {
        String text = new String(answer.readAllBytes(), StandardCharsets.UTF_8);
        return new NodeReport(Json.parse(text, connection.getURL().toString()), null);
      } finally {
        connection.disconnect();
      }
    } catch (IOException | BadInput e) {
      return new NodeReport(null, ErrorText.of(e));
    }
  }

  /** Asks the node to restart a service if it hangs. The next health checks show whether it did. */
  void askForRestart(ServingNode server, String service) {
    try {
      HttpURLConnection connection = connection(server.address(), "/restart/" + service);
      connection.setRequestMethod("POST");
      System.out.printf(
          "%s on %s: the node answered %d%n", service, server.name(), connection.getResponseCode());
      connection.disconnect();
    } catch (IOException e) {
      System.out.printf("%s on %s: %s%n", service, server.name(), ErrorText.of(e));
    }
  }

  /**
   * Asks the node to restart services that are well, which requires the password.
   *
   * @param starts systemd's ids of their present starts, by their names: no other start is ended
   * @return why the node refuses, or ""; the next health checks show whether it did so
   */
  String askForNewStart(ServingNode server, Map<String, Object> starts, byte[] password) {
    try {
      HttpURLConnection connection = connection(server.address(), "/restart");
      send(connection, Json.of("restart", starts), password);
      int status = connection.getResponseCode();
      connection.disconnect();
      return switch (status) {
        case HttpURLConnection.HTTP_ACCEPTED, HttpURLConnection.HTTP_CONFLICT -> "";
        case HttpURLConnection.HTTP_FORBIDDEN -> "it has another password; run site.yml again";
        default -> "it answered " + status + "; run site.yml again";
      };
    } catch (IOException e) {
      return ""; // the next health check shows it
    }
  }

  /**
   * Asks the node to start or stop the profiler in services; see the role {@code health}.
   *
   * @param action {@code start} or {@code stop}
   * @param starts systemd's ids of their present starts, by their names: no other JVM is touched
   * @return its answer for each service, by name; {@code missing} is why there is no profile
   */
  CompletableFuture<Map<?, ?>> profile(
      ServingNode server, String action, Map<String, Object> starts, byte[] password) {
    return CompletableFuture.supplyAsync(() -> profiled(server, action, starts, password), asking);
  }

  private Map<?, ?> profiled(
      ServingNode server, String action, Map<String, Object> starts, byte[] password) {
    String reason;
    try {
      HttpURLConnection connection = connection(server.address(), "/profile");
      connection.setReadTimeout(PROFILE_MS);
      send(connection, Json.of("profile", starts, "action", action), password);
      int status = connection.getResponseCode();
      if (status == HttpURLConnection.HTTP_OK) {
        try (InputStream answer = connection.getInputStream()) {
          String text = new String(answer.readAllBytes(), StandardCharsets.UTF_8);
          return Look.object(Json.parse(text, connection.getURL().toString()).get("services"));
        }
      }
      connection.disconnect();
      reason = "%s answered %d; run site.yml again".formatted(server.name(), status);
    } catch (IOException | BadInput e) {
      reason = "%s: %s".formatted(server.name(), ErrorText.of(e));
    }
    Map<String, Object> gaps = new LinkedHashMap<>();
    for (String service : starts.keySet()) {
      gaps.put(service, Map.of("missing", reason));
    }
    return gaps;
  }

  /** Sends the body of a request that only the holder of the password may make. */
  private static void send(
      HttpURLConnection connection, Map<String, Object> request, byte[] password)
      throws IOException {
    byte[] body = Json.bytes(request);
    connection.setRequestMethod("POST");
    connection.setDoOutput(true);
    connection.setRequestProperty("Authorization", signature(body, password));
    try (OutputStream out = connection.getOutputStream()) {
      out.write(body);
    }
  }

  private static String signature(byte[] body, byte[] password) {
    try {
      Mac mac = Mac.getInstance(SIGNATURE);
      mac.init(new SecretKeySpec(password, SIGNATURE));
      return HexFormat.of().formatHex(mac.doFinal(body));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e); // every Java platform has it
    }
  }

  private HttpURLConnection connection(String address, String path) throws IOException {
    URI uri = URI.create("http://%s:%s%s".formatted(address, nodes.healthPort(), path));
    HttpURLConnection connection = (HttpURLConnection) uri.toURL().openConnection();
    connection.setConnectTimeout(CONNECT_MS);
    // The timeout of a kept connection would close it and wake both ends during a trial.
    connection.setRequestProperty("Connection", "close");
    connection.setReadTimeout(READ_MS);
    return connection;
  }
}
