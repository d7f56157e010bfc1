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
 * <p>It keeps a producer for each of the latest queues. A single producer would keep state at its
 * broker for each queue that it ever sent to. OpenMQ identifies a queue by its name, and names a
 * temporary queue after its client's address and port. A client that gets the port of an earlier
 * one inherits the rest of its credit: 1000 messages for which a producer need not ask the broker.
 * The broker does not answer for a queue that is gone, so the producer and its worker would wait
 * forever. Therefore a producer ends long before it has used up the credit.
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
   * Prepares to reply to a queue. Throws InvalidDestinationException if it is gone, as far as the
   * client library knows without asking the broker. It does not know this for a queue that it has
   * replied to.
   */
  public void open(Queue replyTo) throws JMSException {
    producer(replyTo);
  }

  /**
   * Sends a reply that does not expire. Throws InvalidDestinationException if its queue is gone.
   */
  public void send(Queue replyTo, Message reply, int deliveryMode) throws JMSException {
    Producer producer = producer(replyTo);
    producer.replies++;
    boolean isSent = false;
    try {
      producer.jms.send(reply, deliveryMode, Message.DEFAULT_PRIORITY, 0 /* no end */);
      isSent = true;
    } finally {
      // A queue that refuses may be gone: the broker reports this only to a new producer.
      if (!isSent || producer.replies == MOST_REPLIES) {
        latest.remove(replyTo.getQueueName()).jms.close();
      }
    }
  }

  private Producer producer(Queue replyTo) throws JMSException {
    Producer producer = latest.get(replyTo.getQueueName());
    if (producer == null) {
      producer = new Producer(session.createProducer(replyTo));
      latest.put(replyTo.getQueueName(), producer);
      if (latest.size() > MOST_QUEUES) {
        closeEldest();
      }
    }
    return producer;
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
