package org.rackbench.workers.hello;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class PoolingListenerTest {

  private static final int THREADS = 3;
  private static final int REQUESTS = 100;

  /** All threads of the pool are busy at once; later requests wait for them. */
  @Test
  void requestsShareAsManyThreadsAsThereAreSessions() throws InterruptedException {
    Set<Thread> answering = ConcurrentHashMap.newKeySet();
    CountDownLatch busy = new CountDownLatch(THREADS);
    CountDownLatch done = new CountDownLatch(REQUESTS);
    ExecutorService pool = PoolingListener.pool(THREADS);
    try {
      for (int i = 0; i < REQUESTS; i++) {
        pool.execute(
            () -> {
              answering.add(Thread.currentThread());
              busy.countDown();
              awaitQuietly(busy);
              done.countDown();
            });
      }
      assertTrue(done.await(30, TimeUnit.SECONDS), done + " left");
      assertEquals(THREADS, answering.size());
    } finally {
      pool.shutdownNow();
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
