package org.rackbench.axisjms;

import javax.jms.Connection;
import javax.jms.ConnectionFactory;
import javax.jms.JMSException;
import org.apache.axis.transport.jms.JMSConstants;
import org.apache.axis.transport.jms.QueueConnector;

/**
 * One connection of Axis's JMS client, with one session. Axis would reopen a lost connection while
 * a call waits for it, and would close it in a thread of its own. This connector does neither.
 */
final class ClientConnector extends QueueConnector {

  private final NoRetryAdapter adapter;

  // without an initialiser: the constructor of the base class connects
  private volatile Connection connection;

  ClientConnector(BrokerClient broker, long timeoutMillis, NoRetryAdapter adapter)
      throws JMSException {
    super(
        broker.factory(),
        1 /* attempt to connect */,
        1 /* session */,
        JMSConstants.DEFAULT_CONNECT_RETRY_INTERVAL,
        JMSConstants.DEFAULT_INTERACT_RETRY_INTERVAL,
        timeoutMillis,
        false /* sends, and receives its answers */,
        null,
        broker.username(),
        broker.password(),
        adapter,
        null);
    this.adapter = adapter;
  }

  @Override
  protected Connection internalConnect(ConnectionFactory factory, String username, String password)
      throws JMSException {
    if (connection != null) {
      throw new JMSException("the connection to the broker is lost");
    }
    connection = super.internalConnect(factory, username, password);
    start(connection);
    return connection;
  }

  /**
   * Starts a connection before Axis's thread creates the session. Axis would start both at the same
   * time. OpenMQ's client may then miss the session and never deliver an answer. See
   * docs/explain/upstream.md.
   */
  private static void start(Connection connection) throws JMSException {
    try {
      connection.start();
    } catch (JMSException e) {
      try {
        connection.close();
      } catch (JMSException closing) {
        e.addSuppressed(closing);
      }
      throw e;
    }
  }

  boolean isLost() {
    return adapter.isLost();
  }

  /** Closes the connection first, so that Axis's thread finds it closed, and ends the thread. */
  void close() {
    try {
      connection.close();
    } catch (JMSException e) {
      System.err.println("closing the connection: " + e.getMessage());
    }
    stop();
    shutdown();
  }
}
