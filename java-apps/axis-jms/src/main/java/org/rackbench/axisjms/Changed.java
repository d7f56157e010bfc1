package org.rackbench.axisjms;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.function.UnaryOperator;

/**
 * Changes the objects that an object of the broker's client creates. Axis creates its sessions,
 * senders and receivers in private methods, so this class changes them where the broker's client
 * returns them.
 */
final class Changed {

  private Changed() {}

  /** Returns {@code target}, with a change to each object of type {@code M} that it creates. */
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

  /** Calls a method and passes on its exceptions. */
  static Object call(Object target, Method method, Object[] arguments) throws Throwable {
    try {
      return method.invoke(target, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }
}
