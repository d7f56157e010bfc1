package org.rackbench.messaging;

import jakarta.jms.Connection;
import jakarta.jms.ConnectionFactory;
import jakarta.jms.JMSException;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Hashtable;
import java.util.Map;
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
