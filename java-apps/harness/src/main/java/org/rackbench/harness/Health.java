package org.rackbench.harness;

import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/** Asks the nodes of a trial how they are, by the health socket that every node has. */
final class Health {

  private static final int CONNECT_MS = 3000;
  private static final int READ_MS = 10_000;

  private final Lab lab;
  private final Path run;
  private final int freeMegabytes;

  /**
   * @param run the run's directory, on whose file system trials are written
   * @param freeMegabytes room that this node and the servers must have, in MiB
   */
  Health(Lab lab, Path run, int freeMegabytes) {
    this.lab = lab;
    this.run = run;
    this.freeMegabytes = freeMegabytes;
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
    for (Server server : lab.servers(trial)) {
      try {
        look.server(server, ask(server.address()));
      } catch (IOException | BadInput e) {
        look.unreachable(server, MeasuringLoop.text(e));
      }
    }
    lab.client()
        .ifPresent(
            client -> {
              try {
                look.client(client.name(), ask(client.address()));
              } catch (IOException | BadInput e) {
                // its report only says what may have disturbed the trial
              }
            });
    return look;
  }

  private Map<String, Object> ask(String address) throws IOException {
    URI uri = URI.create("http://%s:%d/".formatted(address, lab.healthPort()));
    HttpURLConnection connection = (HttpURLConnection) uri.toURL().openConnection();
    connection.setConnectTimeout(CONNECT_MS);
    connection.setReadTimeout(READ_MS);
    try (InputStream answer = connection.getInputStream()) {
      String text = new String(answer.readAllBytes(), StandardCharsets.UTF_8);
      return new LinkedHashMap<>(Json.parse(text, uri.toString()));
    } finally {
      connection.disconnect();
    }
  }
}
