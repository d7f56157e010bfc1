package org.rackbench.harness.trial;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.util.Collections;
import java.util.Properties;
import java.util.TreeSet;
import org.rackbench.harness.api.Client;

/** Finds the class of a client by its name in study files. */
final class ClientPrograms {

  /** In each jar with clients: a line {@code name = class} for each of them. */
  private static final String FILE = "META-INF/rackbench/programs.properties";

  private ClientPrograms() {}

  /** Creates the client {@code name} with its constructor without arguments. */
  static Client named(String name) throws IOException, ReflectiveOperationException {
    Properties classes = new Properties();
    ClassLoader loader = ClientPrograms.class.getClassLoader();
    for (URL file : Collections.list(loader.getResources(FILE))) {
      try (InputStream in = file.openStream()) {
        classes.load(in);
      }
    }
    if (!classes.containsKey(name)) {
      throw new IllegalStateException(
          "no jar of the client names '%s' in %s, only %s; name the class there and build again"
              .formatted(name, FILE, new TreeSet<>(classes.stringPropertyNames())));
    }
    return Class.forName(classes.getProperty(name))
        .asSubclass(Client.class)
        .getDeclaredConstructor()
        .newInstance();
  }
}
