package org.rackbench.workers.sort;

import java.util.Arrays;
import java.util.List;
import org.rackbench.jakartajms.BytesService;
import org.rackbench.jakartajms.QueueWorker;
import org.rackbench.jakartajms.QueueWorker.Subscription;
import org.rackbench.workloads.program.Arguments;
import org.rackbench.workloads.sorting.InsertionSort;
import org.rackbench.workloads.sorting.IntBytes;
import org.rackbench.workloads.sorting.SortQueues;

/** Sorts the parts for this worker from the queues of all pools, until it is stopped. */
public final class SortWorker {

  static final String USAGE =
      """
      usage: java -cp 'sort-worker/*' org.rackbench.workers.sort.SortWorker --name NAME
                  --pools N,N,... --jndi-url URL --username USER --password-file FILE
                  [--connection-factory NAME] [--acknowledge auto|client|dups-ok]
                  [--ready-file FILE]
      Listens on the queue sort.pool<N> of each pool size N for messages to it or to no worker.""";

  private SortWorker() {}

  public static void main(String[] args) {
    try {
      worker(args).run();
    } catch (IllegalArgumentException e) {
      System.err.println("sort-worker: " + e.getMessage() + "\n" + USAGE);
      System.exit(2);
    }
  }

  static QueueWorker worker(String[] args) {
    Arguments arguments = QueueWorker.arguments(args, "--pools");
    return QueueWorker.of(
        arguments,
        subscriptions(arguments.text("--name"), arguments.text("--pools")),
        SortWorker::sort);
  }

  /** Returns one subscription for each pool size of the list. */
  static List<Subscription> subscriptions(String name, String pools) {
    String selector = SortQueues.selector(name);
    return Arrays.stream(pools.split(","))
        .map(size -> new Subscription(SortQueues.pool(positive(size)), selector))
        .toList();
  }

  private static int positive(String text) {
    try {
      int number = Integer.parseInt(text.strip());
      if (number > 0) {
        return number;
      }
    } catch (NumberFormatException e) {
      // the message below reports it
    }
    throw new IllegalArgumentException("--pools: '%s' is not a whole number > 0".formatted(text));
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
