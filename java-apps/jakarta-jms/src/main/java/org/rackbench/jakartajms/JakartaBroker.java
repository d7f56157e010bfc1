package org.rackbench.jakartajms;

import jakarta.jms.Connection;
import jakarta.jms.ConnectionFactory;
import jakarta.jms.JMSException;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import java.io.IOException;
import java.util.Map;
import javax.naming.NamingException;
import org.rackbench.workloads.program.BrokerAccount;

/**
 * The broker as a jakarta.jms program uses it. Its users depend on the JMS API alone and not on the
 * broker's vendor.
 */
public record JakartaBroker(BrokerAccount account) {

  /** Opens a connection and does not start it. */
  public Connection connect() throws JMSException, NamingException, IOException {
    String password = account.password();
    return account
        .lookup(ConnectionFactory.class, account.connectionFactory())
        .createConnection(account.username(), password);
  }

  /** Returns the queue with this JNDI name. */
  public Queue queue(String jndiName) throws NamingException {
    return account.lookup(Queue.class, jndiName);
  }

  /** Returns the JMS constant for the acknowledge mode {@code word} of a study file. */
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
}
