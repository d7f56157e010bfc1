package org.rackbench.workers.sort;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.rackbench.messaging.SortQueues;

class OptionsTest {

  private static final String GOOD =
      "--name worker3 --index 3 --pools 1,3,5 --jndi-url file:///jndi --username u --password-file p";

  private static Options parse(String line) {
    return Options.parse(line.split(" "));
  }

  private static String refusal(String line) {
    return assertThrows(IllegalArgumentException.class, () -> parse(line)).getMessage();
  }

  @Test
  void readsItsCommandLine() {
    Options options = parse(GOOD);
    assertEquals(List.of(1, 3, 5), options.pools());
    assertEquals("ConnectionFactory", options.broker().connectionFactory());
    assertEquals("auto", options.acknowledge());
  }

  @Test
  void namesWhatIsWrong() {
    assertEquals(
        "--index: '0' is not a whole number > 0", refusal(GOOD.replace("--index 3", "--index 0")));
    assertEquals("--pools: 'x' is not a whole number > 0", refusal(GOOD.replace("1,3,5", "1,x")));
    assertEquals("--username is missing", refusal(GOOD.replace("--username u ", "")));
    assertEquals("--nme: unknown option or no value for it", refusal(GOOD + " --nme x"));
    assertEquals(
        "--index 6 is in none of the pools [1, 3, 5]; add a larger pool",
        refusal(GOOD.replace("--index 3", "--index 6")));
    assertEquals(
        "acknowledge mode 'never' is not one of auto, client, dups-ok",
        refusal(GOOD + " --acknowledge never"));
  }

  @Test
  void everyPartHasOneWorker() {
    assertEquals(null, SortQueues.selector(1, 1));
    assertEquals("part = 2", SortQueues.selector(3, 3));
    assertEquals("part IS NULL OR part NOT BETWEEN 1 AND 2", SortQueues.selector(3, 1));
  }
}
