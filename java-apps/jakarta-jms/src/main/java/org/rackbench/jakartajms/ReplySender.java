package org.rackbench.jakartajms;

import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageProducer;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Sends replies to the queues that requests name, from one session and in one thread.
 *
 * <p>It keeps a producer for each of the latest queues. One producer for all queues would keep at
 * its broker what it knows of each queue that it ever sent to. OpenMQ knows a queue by its name,
 * and names a temporary queue after its client's address and port: a client that gets the port of
 * one that is gone inherits what that one had left of the 1000 messages for which a producer need
 * not ask the broker. The broker does not answer for a queue that is gone, and the producer, and
 * its worker, would wait for ever. So a producer also ends long before it has to ask.
 */
public final class ReplySender {

  private static final int MOST_QUEUES = 256;
  private static final int MOST_REPLIES = 500; // of one producer

  private final Session session;
  private final Map<String, Producer> latest = new LinkedHashMap<>(16, 0.75f, true);

  public ReplySender(Session session) {
    this.session = session;
  }

  /**
   * Sends a reply that does not expire. Throws InvalidDestinationException if its queue is gone.
   */
  public void send(Queue replyTo, Message reply, int deliveryMode) throws JMSException {
    String name = replyTo.getQueueName();
    Producer producer = latest.get(name);
    if (producer == null) {
      producer = new Producer(session.createProducer(replyTo));
      latest.put(name, producer);
    }
    producer.replies++;
    try {
      producer.jms.send(reply, deliveryMode, Message.DEFAULT_PRIORITY, 0 /* no end */);
    } finally { // what is refused counts at the broker too
      if (producer.replies == MOST_REPLIES) {
        latest.remove(name).jms.close();
      } else if (latest.size() > MOST_QUEUES) {
        closeEldest();
      }
    }
  }

  private void closeEldest() throws JMSException {
    Iterator<Producer> producers = latest.values().iterator();
    Producer eldest = producers.next();
    producers.remove();
    eldest.jms.close();
  }

  private static final class Producer {

    private final MessageProducer jms;
    private int replies;

    private Producer(MessageProducer jms) {
      this.jms = jms;
    }
  }
}
