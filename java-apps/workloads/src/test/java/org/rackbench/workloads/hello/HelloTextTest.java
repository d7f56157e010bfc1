package org.rackbench.workloads.hello;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class HelloTextTest {

  @Test
  void fillsTheEnvelope() {
    assertEquals("HelloHe", HelloText.filling(407, 400));
    assertEquals(104_048, HelloText.filling(104_448, 400).length());
  }

  @Test
  void refusesAMessageSmallerThanItsEnvelope() {
    for (int size : new int[] {400, 0, HelloText.MAXIMUM_BYTES + 1}) {
      Exception e =
          assertThrows(IllegalArgumentException.class, () -> HelloText.filling(size, 400));
      assertTrue(e.getMessage().contains("within 401 (an empty envelope) to"), e.getMessage());
    }
  }

  @Test
  void seesAnotherAnswerAndAnotherSize() {
    assertNull(HelloText.problem("Hell", "Hell", 404, 404));
    assertEquals(
        "the answer is not the text that was sent", HelloText.problem("Hello", "Hell", 404, 404));
    assertEquals(
        "the answer is not the text that was sent", HelloText.problem(null, "Hell", 404, 404));
    assertEquals("the request was 403 bytes, not 404", HelloText.problem("Hell", "Hell", 403, 404));
  }
}
