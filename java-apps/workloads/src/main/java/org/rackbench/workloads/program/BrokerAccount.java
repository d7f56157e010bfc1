package org.rackbench.workloads.program;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Hashtable;
import java.util.function.UnaryOperator;
import javax.naming.Context;
import javax.naming.InitialContext;
import javax.naming.NamingException;

/**
 * The broker's JNDI file store, which holds its administered objects, and an account. This class
 * uses no JMS API, so javax.jms and jakarta.jms programs share it.
 *
 * @param jndiUrl directory of the {@code .bindings} file, as a file: URL
 * @param connectionFactory JNDI name of the connection factory
 * @param username account at the broker
 * @param passwordFile file whose first line is the account's password
 */
public record BrokerAccount(
    String jndiUrl, String connectionFactory, String username, Path passwordFile) {

  /** The options of a command line that {@link #of(Arguments)} reads. */
  public static final String[] OPTIONS = {
    "--jndi-url", "--connection-factory", "--username", "--password-file"
  };

  private static final String FILE_STORE = "com.sun.jndi.fscontext.RefFSContextFactory";

  /**
   * Returns the account that the lab describes.
   *
   * @param text returns the lab's value for a key such as {@code jndi_url}
   */
  public static BrokerAccount of(UnaryOperator<String> text) {
    return new BrokerAccount(
        text.apply("jndi_url"),
        text.apply("connection_factory"),
        text.apply("username"),
        Path.of(text.apply("password_file")));
  }

  /** Returns the account that a command line describes; see {@link #OPTIONS}. */
  public static BrokerAccount of(Arguments arguments) {
    return new BrokerAccount(
        arguments.text("--jndi-url"),
        arguments.text("--connection-factory", "ConnectionFactory"),
        arguments.text("--username"),
        Path.of(arguments.text("--password-file")));
  }

  /** Reads the password, which may change while the program runs. */
  public String password() throws IOException {
    return Files.readString(passwordFile).lines().findFirst().orElse("");
  }

  /**
   * Limits how long this JVM waits for a broker that hangs, where the JMS API has no limit.
   * OpenMQ's client waits without limit for the acknowledgement of a message. The libraries of
   * other brokers ignore the property.
   */
  public static void limitWaits(Duration limit) {
    System.setProperty("imqAckTimeout", Long.toString(limit.toMillis()));
  }

  /** Returns the JNDI environment of the file store. */
  public Hashtable<String, String> jndi() {
    Hashtable<String, String> environment = new Hashtable<>();
    environment.put(Context.INITIAL_CONTEXT_FACTORY, FILE_STORE);
    environment.put(Context.PROVIDER_URL, jndiUrl);
    return environment;
  }

  /** Returns the administered object {@code name}; throws NamingException if it is missing. */
  public <T> T lookup(Class<T> type, String name) throws NamingException {
    Context context = new InitialContext(jndi());
    try {
      return type.cast(context.lookup(name));
    } finally {
      context.close();
    }
  }
}
