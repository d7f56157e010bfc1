package org.rackbench.workers.hello;

import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import javax.jms.BytesMessage;
import javax.jms.Message;
import org.apache.axis.server.AxisServer;
import org.apache.axis.transport.jms.SimpleJMSListener;
import org.apache.axis.transport.jms.SimpleJMSWorker;
import org.rackbench.axisjms.AxisBroker;

/**
 * Axis's JMS listener with a pool of threads like Tomcat's. Axis itself starts a thread for each
 * request, or answers all requests in one thread.
 */
final class PoolingListener extends SimpleJMSListener {

  private static final long REPLY_TIMEOUT_MILLIS = 60_000;
  private static final long IDLE_SECONDS = 60; // as Tomcat's connector

  private final Executor pool;

  /**
   * @param sessions number of requests answered at once: each answer needs a session
   */
  PoolingListener(String queue, AxisBroker broker, int sessions) throws Exception {
    super(
        AxisBroker.connectorProperties(sessions, REPLY_TIMEOUT_MILLIS),
        broker.factoryProperties(),
        queue,
        broker.account().username(),
        broker.account().password(),
        false /* no thread of Axis's for each request */);
    pool = pool(sessions);
  }

  /** Returns a pool that keeps up to {@code threads}; further tasks wait for one of them. */
  static ThreadPoolExecutor pool(int threads) {
    ThreadPoolExecutor pool =
        new ThreadPoolExecutor(
            threads, threads, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }

  /** Returns the one engine of all of Axis's listeners. */
  AxisServer engine() {
    return getAxisServer();
  }

  @Override
  public void onMessage(Message message) {
    if (message instanceof BytesMessage request) {
      pool.execute(new SimpleJMSWorker(this, request));
    } else {
      super.onMessage(message); // logs that it ignores the message
    }
  }
}
