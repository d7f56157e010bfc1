package org.rackbench.messaging;

import jakarta.jms.Connection;
import jakarta.jms.ConnectionFactory;
import jakarta.jms.DeliveryMode;
import jakarta.jms.JMSException;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Hashtable;
import java.util.Map;
import java.util.function.UnaryOperator;
import javax.naming.Context;
import javax.naming.InitialContext;
import javax.naming.NamingException;

/**
 * The broker as worker and client find it: administered objects in a JNDI file store and an
 * account. Code against this class knows the JMS API alone, not whose broker it is.
 *
 * @param jndiUrl directory of the {@code .bindings} file, as a file: URL
 * @param connectionFactory JNDI name of the connection factory
 * @param passwordFile file whose first line is the password of {@code username}
 */
public record Broker(String jndiUrl, String connectionFactory, String username, Path passwordFile) {

  private static final String FILE_STORE = "com.sun.jndi.fscontext.RefFSContextFactory";

  /** The broker of the lab; {@code text} gives what {@code lab.json} says of it under a key. */
  public static Broker of(UnaryOperator<String> text) {
    return new Broker(
        text.apply("jndi_url"),
        text.apply("connection_factory"),
        text.apply("username"),
        Path.of(text.apply("password_file")));
  }

  /** Opens a connection, not started yet. */
  public Connection connect() throws JMSException, NamingException, IOException {
    String password = Files.readString(passwordFile).lines().findFirst().orElse("");
    return lookup(ConnectionFactory.class, connectionFactory).createConnection(username, password);
  }

  public Queue queue(String jndiName) throws NamingException {
    return lookup(Queue.class, jndiName);
  }

  /** The JMS constant for the acknowledge mode that a study file calls {@code word}. */
  public static int acknowledgeMode(String word) {
    Integer mode =
        Map.of(
                "auto", Session.AUTO_ACKNOWLEDGE,
                "client", Session.CLIENT_ACKNOWLEDGE,
                "dups-ok", Session.DUPS_OK_ACKNOWLEDGE)
            .get(word);
    if (mode == null) {
      throw new IllegalArgumentException(
          "acknowledge mode '%s' is not one of auto, client, dups-ok".formatted(word));
    }
    return mode;
  }

  /** The JMS constant for the delivery mode that a study file calls {@code word}. */
  public static int deliveryMode(String word) {
    return switch (word) {
      case "persistent" -> DeliveryMode.PERSISTENT;
      case "non-persistent" -> DeliveryMode.NON_PERSISTENT;
      default ->
          throw new IllegalArgumentException(
              "delivery mode '%s' is not one of persistent, non-persistent".formatted(word));
    };
  }

  private <T> T lookup(Class<T> type, String name) throws NamingException {
    Hashtable<String, String> environment = new Hashtable<>();
    environment.put(Context.INITIAL_CONTEXT_FACTORY, FILE_STORE);
    environment.put(Context.PROVIDER_URL, jndiUrl);
    Context context = new InitialContext(environment);
    try {
      return type.cast(context.lookup(name));
    } finally {
      context.close();
    }
  }
}
