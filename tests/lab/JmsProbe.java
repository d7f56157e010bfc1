import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.ConnectionFactory;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageProducer;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import java.util.Hashtable;
import java.util.Scanner;
import javax.naming.Context;
import javax.naming.InitialContext;

/**
 * A JMS client that knows nothing of the kit's own Java: login, a queue by name, one sorted part a
 * line of integers on standard input. Prints what came of it; a refusal is a line "refused".
 */
public final class JmsProbe {

  public static void main(String[] args) throws Exception {
    Hashtable<String, String> environment = new Hashtable<>();
    environment.put(Context.INITIAL_CONTEXT_FACTORY, "com.sun.jndi.fscontext.RefFSContextFactory");
    environment.put(Context.PROVIDER_URL, "file:///etc/rackbench/jndi");
    Context context = new InitialContext(environment);
    ConnectionFactory factory = (ConnectionFactory) context.lookup("ConnectionFactory");
    Scanner input = new Scanner(System.in);
    String user = input.next();
    String password = input.next();
    try (Connection connection = factory.createConnection(user, password)) {
      connection.start();
      System.out.println("connected");
      Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
      switch (args[0]) {
        case "login" -> {}
        case "produce" -> session.createProducer(session.createQueue(args[1]));
        case "sort" -> sort(session, (Queue) context.lookup(args[1]), args[2], input);
        default -> throw new IllegalArgumentException(args[0]);
      }
      System.out.println("done");
    } catch (JMSException e) {
      System.out.println("refused " + e.getErrorCode());
    }
    System.exit(0);
  }

  private static void sort(Session session, Queue queue, String part, Scanner input)
      throws JMSException {
    BytesMessage request = session.createBytesMessage();
    while (input.hasNextInt()) {
      request.writeInt(input.nextInt());
    }
    Queue replies = session.createTemporaryQueue();
    request.setJMSReplyTo(replies);
    request.setIntProperty("part", Integer.parseInt(part));
    request.setJMSCorrelationID("probe-" + part);
    MessageProducer producer = session.createProducer(queue);
    producer.send(request);
    Message reply = session.createConsumer(replies).receive(30_000);
    if (!(reply instanceof BytesMessage sorted)) {
      System.out.println("no answer");
      return;
    }
    System.out.println("by " + reply.getStringProperty("worker"));
    System.out.println("of " + reply.getJMSCorrelationID());
    StringBuilder values = new StringBuilder("sorted");
    for (long k = sorted.getBodyLength() / 4; k > 0; k--) {
      values.append(' ').append(sorted.readInt());
    }
    System.out.println(values);
  }
}
