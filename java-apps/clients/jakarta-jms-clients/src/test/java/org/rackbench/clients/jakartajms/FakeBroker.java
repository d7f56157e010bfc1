package org.rackbench.clients.jakartajms;

import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.ConnectionFactory;
import jakarta.jms.Destination;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import jakarta.jms.TemporaryQueue;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The parts of a broker and a worker that a client uses, in this JVM. Nothing waits. */
final class FakeBroker {

  /** The worker's reaction to a request; it may reply at once, later or never. */
  interface Worker {
    void take(BytesMessage request) throws JMSException;
  }

  final List<String> called = new ArrayList<>();
  private final Map<String, Deque<Message>> queues = new HashMap<>();
  private final Set<String> open = new HashSet<>();
  private Worker worker;
  private boolean refusesQueues;
  private int connections;

  RequestQueue answeredBy(Worker answering) {
    worker = answering;
    return new RequestQueue(
        "requests", proxy(ConnectionFactory.class, this::factory), null, "bench", "secret");
  }

  /** Replies with the body of the request; returns whether the reply queue still exists. */
  boolean echo(BytesMessage request, String error) throws JMSException {
    BytesMessage reply = proxy(BytesMessage.class, new Bytes());
    reply.setJMSCorrelationID(request.getJMSCorrelationID());
    byte[] body = new byte[(int) request.getBodyLength()];
    request.readBytes(body);
    reply.writeBytes(body);
    if (error != null) {
      reply.setStringProperty("error", error);
    }
    String queue = ((Queue) request.getJMSReplyTo()).getQueueName();
    queues.computeIfAbsent(queue, name -> new ArrayDeque<>()).add(reply);
    return open.contains(queue);
  }

  /** Refuses temporary queues from now on, or no longer. */
  void refuseQueues(boolean isRefusing) {
    refusesQueues = isRefusing;
  }

  int connections() {
    return connections;
  }

  private Object factory(Object self, Method method, Object[] args) {
    String name = "replies" + ++connections;
    return proxy(Connection.class, (connection, called, none) -> connection(name, called));
  }

  private Object connection(String name, Method method) {
    if (method.getName().equals("close")) {
      open.remove(name);
    }
    return method.getName().equals("createSession")
        ? proxy(Session.class, (session, called, args) -> session(name, called))
        : null;
  }

  private Object session(String name, Method method) throws JMSException {
    return switch (method.getName()) {
      case "createTemporaryQueue" -> {
        if (refusesQueues) {
          throw new JMSException("no queue");
        }
        open.add(name);
        yield proxy(TemporaryQueue.class, (queue, called, args) -> name);
      }
      case "createBytesMessage" -> proxy(BytesMessage.class, new Bytes());
      case "createProducer" -> proxy(MessageProducer.class, this::producer);
      case "createConsumer" ->
          proxy(MessageConsumer.class, (consumer, called, args) -> consumer(name));
      default -> null;
    };
  }

  private Object producer(Object self, Method method, Object[] args) throws JMSException {
    called.add(method.getName() + args.length);
    if (method.getName().equals("send")) {
      worker.take((BytesMessage) args[0]);
    }
    return null;
  }

  private Message consumer(String name) {
    Deque<Message> waiting = queues.get(name);
    return waiting == null ? null : waiting.poll();
  }

  /** A message: its body, its reply queue, its correlation id and its properties. */
  private static final class Bytes implements InvocationHandler {

    private final Map<String, Object> values = new HashMap<>();
    private byte[] body = {};
    private Destination replyTo;
    private String correlation;

    @Override
    public Object invoke(Object self, Method method, Object[] args) {
      switch (method.getName()) {
        case "writeBytes" -> body = ((byte[]) args[0]).clone();
        case "setJMSReplyTo" -> replyTo = (Destination) args[0];
        case "setJMSCorrelationID" -> correlation = (String) args[0];
        case "setStringProperty" -> values.put((String) args[0], args[1]);
        default -> {
          return read(method.getName(), args);
        }
      }
      return null;
    }

    private Object read(String name, Object[] args) {
      return switch (name) {
        case "getBodyLength" -> (long) body.length;
        case "readBytes" -> {
          System.arraycopy(body, 0, args[0], 0, body.length);
          yield body.length;
        }
        case "getJMSReplyTo" -> replyTo;
        case "getJMSCorrelationID" -> correlation;
        case "propertyExists" -> values.containsKey(args[0]);
        case "getStringProperty" -> values.get(args[0]);
        default -> throw new UnsupportedOperationException(name);
      };
    }
  }

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
  }
}
