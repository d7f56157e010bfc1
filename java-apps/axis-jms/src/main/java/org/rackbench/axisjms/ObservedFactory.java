package org.rackbench.axisjms;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import javax.jms.QueueConnection;
import javax.jms.QueueConnectionFactory;
import javax.jms.QueueReceiver;
import javax.jms.QueueSession;

/**
 * Makes visible when Axis sends, waits and reads. Axis makes its sessions and receivers in private
 * methods, so they are changed where the broker's client gives them out.
 */
final class ObservedFactory {

  private final Consumer<Step> steps;

  /**
   * @param steps is told each step by the thread that goes to make it
   */
  ObservedFactory(Consumer<Step> steps) {
    this.steps = steps;
  }

  /** Returns a factory like {@code factory} whose receivers tell the steps. */
  QueueConnectionFactory over(QueueConnectionFactory factory) {
    return over(QueueConnectionFactory.class, factory, QueueConnection.class, this::over);
  }

  private QueueConnection over(QueueConnection connection) {
    return over(QueueConnection.class, connection, QueueSession.class, this::over);
  }

  private QueueSession over(QueueSession session) {
    return over(QueueSession.class, session, QueueReceiver.class, this::over);
  }

  private QueueReceiver over(QueueReceiver receiver) {
    steps.accept(Step.SEND); // with the receiver made, Axis sends
    return new ObservedReceiver(receiver, steps);
  }

  /** Returns {@code target} with everything that it makes of type {@code M} changed. */
  private static <T, M> T over(Class<T> type, T target, Class<M> made, UnaryOperator<M> change) {
    InvocationHandler handler =
        (proxy, method, arguments) -> {
          try {
            Object result = method.invoke(target, arguments);
            return made.isInstance(result) ? change.apply(made.cast(result)) : result;
          } catch (InvocationTargetException e) {
            throw e.getCause();
          }
        };
    return type.cast(
        Proxy.newProxyInstance(
            ObservedFactory.class.getClassLoader(), new Class<?>[] {type}, handler));
  }
}
