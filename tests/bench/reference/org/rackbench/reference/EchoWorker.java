package org.rackbench.reference;

import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import jakarta.jms.TextMessage;
import java.io.IOException;
import javax.naming.NamingException;
import org.rackbench.jakartajms.JakartaBroker;
import org.rackbench.jakartajms.ReplySender;
import org.rackbench.workloads.program.Arguments;
import org.rackbench.workloads.program.BrokerAccount;
import org.rackbench.workloads.program.ReadyFile;

/**
 * Answers each request of one queue with its own body, at once and to its reply queue. A text is
 * answered with a text, because JMeter sends nothing else.
 */
public final class EchoWorker {

  private static final int CONSUMERS = 4; // no client waits while another's reply is on its way

  private final JakartaBroker broker;
  private final String queue;

  private EchoWorker(JakartaBroker broker, String queue) {
    this.broker = broker;
    this.queue = queue;
  }

  public static void main(String[] args)
      throws JMSException, NamingException, IOException, InterruptedException {
    Arguments arguments =
        Arguments.parse(
            args,
            "--queue",
            "--jndi-url",
            "--connection-factory",
            "--username",
            "--password-file",
            ReadyFile.OPTION);
    JakartaBroker broker = new JakartaBroker(BrokerAccount.of(arguments));
    new EchoWorker(broker, arguments.text("--queue")).listen();
    ReadyFile.of(arguments).write("echo");
    Thread.currentThread().join();
  }

  private void listen() throws JMSException, NamingException, IOException {
    Connection connection = broker.connect();
    connection.setExceptionListener(e -> Runtime.getRuntime().halt(1));
    for (int i = 0; i < CONSUMERS; i++) {
      Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      ReplySender replies = new ReplySender(session);
      session
          .createConsumer(broker.queue(queue))
          .setMessageListener(request -> answer(session, replies, request));
    }
    connection.start();
  }

  private static void answer(Session session, ReplySender replies, Message request) {
    try {
      Message reply = sameBody(session, request);
      String id = request.getJMSCorrelationID();
      reply.setJMSCorrelationID(id == null ? request.getJMSMessageID() : id);
      replies.send((Queue) request.getJMSReplyTo(), reply, request.getJMSDeliveryMode());
    } catch (JMSException e) {
      System.out.println("cannot answer: " + e.getMessage()); // its client may be gone
    }
  }

  private static Message sameBody(Session session, Message request) throws JMSException {
    if (request instanceof TextMessage text) {
      return session.createTextMessage(text.getText());
    }
    BytesMessage message = (BytesMessage) request;
    byte[] body = new byte[(int) message.getBodyLength()];
    message.readBytes(body);
    BytesMessage reply = session.createBytesMessage();
    reply.writeBytes(body);
    return reply;
  }
}
