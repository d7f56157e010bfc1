package org.rackbench.workers.sort;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.rackbench.messaging.Broker;

/**
 * Command line of the worker.
 *
 * @param name by which clients address this worker
 * @param pools sizes of all pools of the lab
 * @param acknowledge auto, client or dups-ok
 * @param readyFile there while the worker listens; null for none
 */
record Options(
    String name, List<Integer> pools, Broker broker, String acknowledge, Path readyFile) {

  static final String USAGE =
      """
      usage: java -cp 'sort-worker/*' org.rackbench.workers.sort.SortWorker --name NAME
                  --pools N,N,... --jndi-url URL --username USER --password-file FILE
                  [--connection-factory NAME] [--acknowledge auto|client|dups-ok]
                  [--ready-file FILE]
      Listens on the queue sort.pool<N> of each pool size N, for what names it or no worker.""";

  private static final Set<String> NAMES =
      Set.of(
          "--name",
          "--pools",
          "--jndi-url",
          "--username",
          "--password-file",
          "--connection-factory",
          "--acknowledge",
          "--ready-file");

  /** Throws IllegalArgumentException with a message for the user. */
  static Options parse(String[] args) {
    Map<String, String> given = new HashMap<>();
    for (int i = 0; i < args.length; i += 2) {
      if (!NAMES.contains(args[i]) || i + 1 == args.length) {
        throw new IllegalArgumentException(args[i] + ": unknown option or no value for it");
      }
      given.put(args[i], args[i + 1]);
    }
    List<Integer> pools =
        Arrays.stream(needed(given, "--pools").split(","))
            .map(n -> positive("--pools", n))
            .toList();
    Broker broker =
        new Broker(
            needed(given, "--jndi-url"),
            given.getOrDefault("--connection-factory", "ConnectionFactory"),
            needed(given, "--username"),
            Path.of(needed(given, "--password-file")));
    String acknowledge = given.getOrDefault("--acknowledge", "auto");
    Broker.acknowledgeMode(acknowledge);
    String readyFile = given.get("--ready-file");
    return new Options(
        needed(given, "--name"),
        pools,
        broker,
        acknowledge,
        readyFile == null ? null : Path.of(readyFile));
  }

  private static String needed(Map<String, String> given, String name) {
    if (!given.containsKey(name)) {
      throw new IllegalArgumentException(name + " is missing");
    }
    return given.get(name);
  }

  private static int positive(String name, String text) {
    try {
      int number = Integer.parseInt(text.strip());
      if (number > 0) {
        return number;
      }
    } catch (NumberFormatException e) {
      // the message below says it
    }
    throw new IllegalArgumentException("%s: '%s' is not a whole number > 0".formatted(name, text));
  }
}
