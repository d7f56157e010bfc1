package org.rackbench.axisjms;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Hashtable;
import java.util.Map;
import javax.jms.Connection;
import javax.jms.ConnectionFactory;
import javax.jms.JMSException;
import javax.naming.Context;
import javax.naming.InitialContext;
import javax.naming.NamingException;
import org.apache.axis.components.jms.JMSVendorAdapterFactory;
import org.apache.axis.components.jms.JNDIVendorAdapter;
import org.apache.axis.transport.jms.JMSConnector;
import org.apache.axis.transport.jms.JMSConnectorFactory;
import org.apache.axis.transport.jms.JMSConstants;

/**
 * The broker as Axis's JMS transport finds it: administered objects in a JNDI file store and an
 * account.
 *
 * @param jndiUrl directory of the {@code .bindings} file, as a file: URL
 * @param connectionFactory JNDI name of the connection factory
 * @param passwordFile file whose first line is the password of {@code username}
 */
public record AxisBroker(
    String jndiUrl, String connectionFactory, String username, Path passwordFile) {

  private static final String FILE_STORE = "com.sun.jndi.fscontext.RefFSContextFactory";

  public String password() throws IOException {
    return Files.readString(passwordFile).lines().findFirst().orElse("");
  }

  /** Opens a connection without Axis, not started yet. */
  public Connection connect() throws JMSException, NamingException, IOException {
    Context context =
        new InitialContext(
            new Hashtable<>(
                Map.of(
                    Context.INITIAL_CONTEXT_FACTORY, FILE_STORE, Context.PROVIDER_URL, jndiUrl)));
    try {
      return ((ConnectionFactory) context.lookup(connectionFactory))
          .createConnection(username, password());
    } finally {
      context.close();
    }
  }

  /** What Axis needs to find the connection factory. */
  public HashMap<String, Object> factoryProperties() {
    HashMap<String, Object> properties = new HashMap<>();
    properties.put(Context.INITIAL_CONTEXT_FACTORY, FILE_STORE);
    properties.put(Context.PROVIDER_URL, jndiUrl);
    properties.put(JNDIVendorAdapter.CONNECTION_FACTORY_JNDI_NAME, connectionFactory);
    return properties;
  }

  /**
   * What Axis needs to know of its connections.
   *
   * @param sessions sessions to send with, each for one message at a time
   * @param timeoutMillis longest time that Axis waits for one of them
   */
  public static HashMap<String, Object> connectorProperties(int sessions, long timeoutMillis) {
    HashMap<String, Object> properties = new HashMap<>();
    properties.put(JMSConstants.NUM_SESSIONS, sessions);
    properties.put(JMSConstants.NUM_RETRIES, 1);
    properties.put(JMSConstants.TIMEOUT_TIME, timeoutMillis);
    return properties;
  }

  /** Opens a connection as Axis's JMS client does, with one session. */
  public JMSConnector connector(long timeoutMillis) throws Exception {
    JMSConnector connector =
        JMSConnectorFactory.createClientConnector(
            connectorProperties(1, timeoutMillis),
            factoryProperties(),
            username,
            password(),
            JMSVendorAdapterFactory.getJMSVendorAdapter(JMSConstants.JNDI_VENDOR_ID));
    connector.start();
    return connector;
  }
}
