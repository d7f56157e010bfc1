package org.rackbench.axisjms;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.function.UnaryOperator;

/**
 * Changes what an object of the broker's client makes. Axis makes its sessions, senders and
 * receivers in private methods, so they are changed where the broker's client gives them out.
 */
final class Changed {

  private Changed() {}

  /** Returns {@code target} with everything that it makes of type {@code M} changed. */
  static <T, M> T over(Class<T> type, T target, Class<M> made, UnaryOperator<M> change) {
    return proxy(
        type,
        (self, method, arguments) -> {
          Object result = call(target, method, arguments);
          return made.isInstance(result) ? change.apply(made.cast(result)) : result;
        });
  }

  static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(
        Proxy.newProxyInstance(Changed.class.getClassLoader(), new Class<?>[] {type}, handler));
  }

  /** Calls a method; throws what it throws. */
  static Object call(Object target, Method method, Object[] arguments) throws Throwable {
    try {
      return method.invoke(target, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }
}
