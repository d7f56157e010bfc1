package org.rackbench.workers.sort;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.rackbench.jakartajms.BytesService;
import org.rackbench.jakartajms.QueueWorker.Subscription;
import org.rackbench.workloads.sorting.IntBytes;
import org.rackbench.workloads.sorting.SortQueues;

class SortWorkerTest {

  private static final String GOOD =
      "--name rack-03.lab --pools 1,3,5 --jndi-url file:///jndi --username u --password-file p";

  private static String refusal(String line) {
    return assertThrows(IllegalArgumentException.class, () -> SortWorker.worker(line.split(" ")))
        .getMessage();
  }

  @Test
  void sortsAPart() throws Exception {
    byte[] sorted = SortWorker.sort(IntBytes.encode(new int[] {3, -1, 2}));
    assertArrayEquals(new int[] {-1, 2, 3}, IntBytes.decode(sorted));
  }

  @Test
  void refusesWhatAreNoIntegers() {
    assertThrows(BytesService.Refused.class, () -> SortWorker.sort(new byte[5]));
  }

  @Test
  void listensOnTheQueueOfEachPool() {
    String selector = "worker = 'rack-03.lab' OR worker IS NULL";
    assertEquals(
        List.of(new Subscription("sort.pool1", selector), new Subscription("sort.pool3", selector)),
        SortWorker.subscriptions("rack-03.lab", "1,3"));
  }

  @Test
  void readsItsCommandLine() {
    assertNotNull(SortWorker.worker(GOOD.split(" ")));
    assertEquals("--pools: '0' is not a whole number > 0", refusal(GOOD.replace("1,3,5", "0")));
    assertEquals("--pools: 'x' is not a whole number > 0", refusal(GOOD.replace("1,3,5", "1,x")));
    assertEquals("--username is missing", refusal(GOOD.replace("--username u ", "")));
    assertEquals("--nme: unknown option or no value for it", refusal(GOOD + " --nme x"));
    assertEquals(
        "acknowledge mode 'never' is not one of auto, client, dups-ok",
        refusal(GOOD + " --acknowledge never"));
  }

  @Test
  void takesWhatNamesItOrNobody() {
    assertEquals("worker = 'o''brien' OR worker IS NULL", SortQueues.selector("o'brien"));
  }
}
