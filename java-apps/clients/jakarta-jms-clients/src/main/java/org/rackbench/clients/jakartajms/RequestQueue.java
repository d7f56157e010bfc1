package org.rackbench.clients.jakartajms;

import jakarta.jms.ConnectionFactory;
import jakarta.jms.Queue;
import java.io.IOException;
import javax.naming.NamingException;
import org.rackbench.harness.api.Lab;
import org.rackbench.workloads.program.BrokerAccount;

/**
 * The queue of the requests, looked up once, so that no call looks it up.
 *
 * @param name JNDI name of the queue
 */
record RequestQueue(
    String name, ConnectionFactory factory, Queue queue, String username, String password) {

  static RequestQueue lookUp(Lab lab, String name) throws NamingException, IOException {
    BrokerAccount account = BrokerAccount.of(lab::broker);
    return new RequestQueue(
        name,
        account.lookup(ConnectionFactory.class, account.connectionFactory()),
        account.lookup(Queue.class, name),
        account.username(),
        account.password());
  }
}
