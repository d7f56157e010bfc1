package org.rackbench.axisjms;

import java.io.IOException;
import java.util.function.Consumer;
import javax.jms.JMSException;
import javax.jms.Queue;
import javax.jms.QueueConnectionFactory;
import javax.naming.NamingException;
import org.rackbench.workloads.program.BrokerAccount;

/**
 * The administered objects that a client connects and sends with. They are looked up once, before
 * timing, because each lookup makes the file store parse its whole file.
 */
public record BrokerClient(
    QueueConnectionFactory factory, Queue queue, String username, String password) {

  /**
   * Looks up the connection factory and a queue, and reads the password.
   *
   * @param queue JNDI name
   */
  public static BrokerClient lookUp(BrokerAccount account, String queue)
      throws NamingException, IOException {
    return new BrokerClient(
        account.lookup(QueueConnectionFactory.class, account.connectionFactory()),
        account.lookup(Queue.class, queue),
        account.username(),
        account.password());
  }

  /** Returns the same with connections that report the steps of each exchange. */
  public BrokerClient observed(Consumer<Step> steps) {
    return new BrokerClient(new ObservedFactory(steps).over(factory), queue, username, password);
  }

  /** Opens a connection with one session. */
  ClientConnector connect(long timeoutMillis) throws JMSException {
    ClientConnector connector = new ClientConnector(this, timeoutMillis, new NoRetryAdapter());
    connector.start();
    return connector;
  }
}
