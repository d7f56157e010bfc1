import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.ConnectionFactory;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageProducer;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import java.util.Base64;
import java.util.Hashtable;
import java.util.List;
import java.util.Scanner;
import javax.naming.Context;
import javax.naming.InitialContext;

/**
 * A JMS client that uses none of rackbench's own Java. The first two words of standard input are
 * its account and password; the first argument is what it does with the queues that follow. {@code
 * sort} sends the integers on standard input to one worker, {@code exchange} the bytes given there
 * in Base64. Prints what it received, or a line "refused" with the broker's code.
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
        case "consume" -> session.createConsumer(session.createQueue(args[1])).receive(500);
        case "browse" -> session.createBrowser(session.createQueue(args[1])).getEnumeration();
        case "topic" -> session.createProducer(session.createTopic(args[1]));
        case "exchange" -> {
          byte[] request = Base64.getDecoder().decode(input.next());
          for (String queue : List.of(args).subList(1, args.length)) {
            exchange(session, (Queue) context.lookup(queue), request);
          }
        }
        case "sort" -> sort(session, (Queue) context.lookup(args[1]), args[2], input);
        default -> throw new IllegalArgumentException(args[0]);
      }
      System.out.println("done");
    } catch (JMSException e) {
      System.out.println("refused " + e.getErrorCode());
    }
    System.exit(0);
  }

  private static void sort(Session session, Queue queue, String worker, Scanner input)
      throws JMSException {
    BytesMessage request = session.createBytesMessage();
    while (input.hasNextInt()) {
      request.writeInt(input.nextInt());
    }
    request.setStringProperty("worker", worker);
    request.setJMSCorrelationID("probe-" + worker);
    BytesMessage sorted = answer(session, queue, request);
    System.out.println("by " + sorted.getStringProperty("worker"));
    System.out.println("of " + sorted.getJMSCorrelationID());
    StringBuilder values = new StringBuilder("sorted");
    for (long k = sorted.getBodyLength() / 4; k > 0; k--) {
      values.append(' ').append(sorted.readInt());
    }
    System.out.println(values);
  }

  private static void exchange(Session session, Queue queue, byte[] content) throws JMSException {
    BytesMessage request = session.createBytesMessage();
    request.writeBytes(content);
    BytesMessage reply = answer(session, queue, request);
    byte[] bytes = new byte[(int) reply.getBodyLength()];
    reply.readBytes(bytes);
    System.out.println("answer " + Base64.getEncoder().encodeToString(bytes));
  }

  private static BytesMessage answer(Session session, Queue queue, BytesMessage request)
      throws JMSException {
    Queue replies = session.createTemporaryQueue();
    request.setJMSReplyTo(replies);
    MessageProducer producer = session.createProducer(queue);
    producer.send(request);
    Message reply = session.createConsumer(replies).receive(30_000);
    if (reply instanceof BytesMessage bytes) {
      return bytes;
    }
    throw new JMSException("no answer in bytes", "no-answer");
  }
}
