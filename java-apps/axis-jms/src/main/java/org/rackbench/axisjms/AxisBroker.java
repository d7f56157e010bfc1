package org.rackbench.axisjms;

import java.io.IOException;
import java.util.HashMap;
import javax.jms.Connection;
import javax.jms.ConnectionFactory;
import javax.jms.JMSException;
import javax.naming.NamingException;
import org.apache.axis.components.jms.JNDIVendorAdapter;
import org.apache.axis.transport.jms.JMSConstants;
import org.rackbench.workloads.program.BrokerAccount;

/** The broker as Axis's JMS transport (javax.jms) uses it. */
public record AxisBroker(BrokerAccount account) {

  /** Opens a connection without Axis and does not start it. */
  public Connection connect() throws JMSException, NamingException, IOException {
    String password = account.password();
    return account
        .lookup(ConnectionFactory.class, account.connectionFactory())
        .createConnection(account.username(), password);
  }

  /** Returns what Axis needs to find the connection factory. */
  public HashMap<String, Object> factoryProperties() {
    HashMap<String, Object> properties = new HashMap<>(account.jndi());
    properties.put(JNDIVendorAdapter.CONNECTION_FACTORY_JNDI_NAME, account.connectionFactory());
    return properties;
  }

  /**
   * Returns the settings of Axis's connections.
   *
   * @param sessions number of sessions to send with, each for one message at a time
   * @param timeoutMillis longest time in milliseconds that Axis waits for one of them
   */
  public static HashMap<String, Object> connectorProperties(int sessions, long timeoutMillis) {
    HashMap<String, Object> properties = new HashMap<>();
    properties.put(JMSConstants.NUM_SESSIONS, sessions);
    properties.put(JMSConstants.NUM_RETRIES, 1);
    properties.put(JMSConstants.TIMEOUT_TIME, timeoutMillis);
    return properties;
  }
}
