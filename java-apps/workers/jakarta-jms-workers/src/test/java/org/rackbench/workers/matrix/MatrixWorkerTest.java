package org.rackbench.workers.matrix;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.rackbench.jakartajms.BytesService;
import org.rackbench.workloads.matrix.Matrices;
import org.rackbench.workloads.matrix.MatrixBytes;

class MatrixWorkerTest {

  @Test
  void answersTheSameMatrix() throws Exception {
    byte[] matrix = MatrixBytes.encode(Matrices.random(30, 1, 1, 2));
    assertArrayEquals(matrix, MatrixWorker.answer(matrix));
  }

  @Test
  void refusesWhatIsNoMatrix() {
    assertThrows(BytesService.Refused.class, () -> MatrixWorker.answer(new byte[0]));
    assertThrows(BytesService.Refused.class, () -> MatrixWorker.answer("matrix".getBytes()));
  }

  private static String refusal(String line) {
    return assertThrows(IllegalArgumentException.class, () -> MatrixWorker.worker(line.split(" ")))
        .getMessage();
  }

  @Test
  void readsItsCommandLine() {
    String good =
        "--name rack03 --queue matrix.rack03 --jndi-url file:///jndi --username u --password-file p";
    assertNotNull(MatrixWorker.worker(good.split(" ")));
    assertEquals("--queue is missing", refusal(good.replace("--queue matrix.rack03 ", "")));
    assertEquals("--username is missing", refusal(good.replace("--username u ", "")));
    assertEquals(
        "acknowledge mode 'never' is not one of auto, client, dups-ok",
        refusal(good + " --acknowledge never"));
  }
}
