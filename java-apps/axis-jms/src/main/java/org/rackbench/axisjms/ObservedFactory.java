package org.rackbench.axisjms;

import java.util.function.Consumer;
import javax.jms.QueueConnection;
import javax.jms.QueueConnectionFactory;
import javax.jms.QueueReceiver;
import javax.jms.QueueSession;

/** Reports when Axis sends, waits and reads. */
final class ObservedFactory {

  private final Consumer<Step> steps;

  /**
   * @param steps receives each step, in the thread that is about to make it
   */
  ObservedFactory(Consumer<Step> steps) {
    this.steps = steps;
  }

  /** Returns a factory like {@code factory} whose receivers report the steps. */
  QueueConnectionFactory over(QueueConnectionFactory factory) {
    return Changed.over(QueueConnectionFactory.class, factory, QueueConnection.class, this::over);
  }

  private QueueConnection over(QueueConnection connection) {
    return Changed.over(QueueConnection.class, connection, QueueSession.class, this::over);
  }

  private QueueSession over(QueueSession session) {
    return Changed.over(QueueSession.class, session, QueueReceiver.class, this::over);
  }

  private QueueReceiver over(QueueReceiver receiver) {
    steps.accept(Step.SEND); // Axis sends once it has the receiver
    return new ObservedReceiver(receiver, steps);
  }
}
