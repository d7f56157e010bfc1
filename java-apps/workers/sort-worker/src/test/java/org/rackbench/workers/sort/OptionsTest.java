package org.rackbench.workers.sort;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.rackbench.messaging.SortQueues;

class OptionsTest {

  private static final String GOOD =
      "--name rack-03.lab --pools 1,3,5 --jndi-url file:///jndi --username u --password-file p";

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
    assertEquals("worker = 'rack-03.lab' OR worker IS NULL", SortQueues.selector("rack-03.lab"));
    assertEquals("worker = 'o''brien' OR worker IS NULL", SortQueues.selector("o'brien"));
  }
}
