package org.rackbench.workers.sort;

import org.rackbench.messaging.BytesService;
import org.rackbench.messaging.QueueWorker;
import org.rackbench.messaging.QueueWorker.Subscription;
import org.rackbench.messaging.SortQueues;
import org.rackbench.sorting.InsertionSort;
import org.rackbench.sorting.IntBytes;

/** Sorts the parts that come for it through the queues of all pools until it is told to stop. */
public final class SortWorker {

  private SortWorker() {}

  public static void main(String[] args) {
    try {
      Options options = Options.parse(args);
      String selector = SortQueues.selector(options.name());
      new QueueWorker(
              options.name(),
              options.broker(),
              options.acknowledge(),
              options.readyFile(),
              options.pools().stream()
                  .map(size -> new Subscription(SortQueues.pool(size), selector))
                  .toList(),
              SortWorker::sort)
          .run();
    } catch (IllegalArgumentException e) {
      System.err.println("sort-worker: " + e.getMessage() + "\n" + Options.USAGE);
      System.exit(2);
    }
  }

  static byte[] sort(byte[] body) throws BytesService.Refused {
    int[] values;
    try {
      values = IntBytes.decode(body);
    } catch (IllegalArgumentException e) {
      throw new BytesService.Refused(e.getMessage());
    }
    InsertionSort.sort(values);
    return IntBytes.encode(values);
  }
}
