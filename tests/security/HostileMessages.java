import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.ConnectionFactory;
import jakarta.jms.JMSException;
import jakarta.jms.MapMessage;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import jakarta.jms.StreamMessage;
import java.util.Hashtable;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Scanner;
import javax.naming.Context;
import javax.naming.InitialContext;

/**
 * Sends messages that no worker expects to the queue named first. The second argument is another
 * worker's queue, the third the longest time in milliseconds to wait for each answer. Prints a line
 * for each message: its name, and the error in the answer, "answered", "silence", or "refused" when
 * the broker did not take it.
 */
public final class HostileMessages {

  private interface Maker {
    Message make(Session session) throws JMSException;
  }

  public static void main(String[] args) throws Exception {
    Hashtable<String, String> environment = new Hashtable<>();
    environment.put(Context.INITIAL_CONTEXT_FACTORY, "com.sun.jndi.fscontext.RefFSContextFactory");
    environment.put(Context.PROVIDER_URL, "file:///etc/rackbench/jndi");
    Context context = new InitialContext(environment);
    ConnectionFactory factory = (ConnectionFactory) context.lookup("ConnectionFactory");
    Scanner input = new Scanner(System.in);
    try (Connection connection = factory.createConnection(input.next(), input.next())) {
      connection.start();
      Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      Queue queue = (Queue) context.lookup(args[0]);
      Queue foreign = (Queue) context.lookup(args[1]);
      for (Map.Entry<String, Maker> entry : messages(queue, foreign).entrySet()) {
        System.out.println(entry.getKey() + ": " + outcome(session, queue, entry.getValue(), Long.parseLong(args[2])));
      }
    }
    System.exit(0);
  }

  private static Map<String, Maker> messages(Queue queue, Queue foreign) {
    Map<String, Maker> makers = new LinkedHashMap<>();
    makers.put("text", session -> session.createTextMessage("<not/>what is expected"));
    makers.put("plain message", Session::createMessage);
    makers.put("object", session -> session.createObjectMessage(new Hashtable<>(Map.of("a", "b"))));
    makers.put(
        "map",
        session -> {
          MapMessage message = session.createMapMessage();
          message.setInt("a", 1);
          return message;
        });
    makers.put(
        "stream",
        session -> {
          StreamMessage message = session.createStreamMessage();
          message.writeString("a");
          return message;
        });
    makers.put("no bytes", Session::createBytesMessage);
    makers.put("noise", session -> bytes(session, 1001));
    makers.put("12 MiB", session -> bytes(session, 12 << 20));
    makers.put("40 MiB", session -> bytes(session, 40 << 20));
    makers.put(
        "odd properties",
        session -> {
          BytesMessage message = bytes(session, 10);
          message.setStringProperty("part", "none");
          message.setStringProperty("worker", "x".repeat(100_000));
          message.setJMSCorrelationID("x".repeat(100_000));
          message.setJMSType("\u0000\uffff");
          return message;
        });
    makers.put("no reply queue", session -> replyTo(session, null));
    makers.put("its own queue for replies", session -> replyTo(session, queue));
    makers.put("another's queue for replies", session -> replyTo(session, foreign));
    makers.put(
        "a queue that is not there for replies",
        session -> replyTo(session, session.createQueue("nobody.knows.it")));
    return makers;
  }

  private static BytesMessage bytes(Session session, int size) throws JMSException {
    BytesMessage message = session.createBytesMessage();
    message.writeBytes(new byte[size]);
    return message;
  }

  /** Returns a message whose answer goes elsewhere; its JMS type marks it, so that nobody waits. */
  private static Message replyTo(Session session, Queue replies) throws JMSException {
    BytesMessage message = bytes(session, 7);
    message.setJMSReplyTo(replies);
    message.setJMSType("elsewhere");
    return message;
  }

  private static String outcome(
      Session session, Queue queue, Maker maker, long patienceMillis) {
    try {
      Message message = maker.make(session);
      if ("elsewhere".equals(message.getJMSType())) {
        session.createProducer(queue).send(message);
        return "sent";
      }
      Queue replies = session.createTemporaryQueue();
      message.setJMSReplyTo(replies);
      session.createProducer(queue).send(message);
      try (MessageConsumer consumer = session.createConsumer(replies)) {
        Message reply = consumer.receive(patienceMillis);
        if (reply == null) {
          return "silence";
        }
        return reply.propertyExists("error") ? reply.getStringProperty("error") : "answered";
      }
    } catch (JMSException e) {
      return "refused " + e.getMessage();
    }
  }
}
