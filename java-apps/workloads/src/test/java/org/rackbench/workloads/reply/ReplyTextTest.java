package org.rackbench.workloads.reply;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.IntSummaryStatistics;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReplyTextTest {

  @ParameterizedTest
  @CsvSource({"1, 1", "20000, 1", "20000, 8", "7, 7", "20, 3", "1048576, 10000"})
  void theElementsAreTheBytesInPiecesOfLikeLength(int size, int elements) {
    String[] pieces = ReplyText.elements(size, elements);
    IntSummaryStatistics lengths =
        Arrays.stream(pieces).mapToInt(String::length).summaryStatistics();
    assertEquals(elements, lengths.getCount());
    assertEquals(size, lengths.getSum());
    assertEquals(0, (lengths.getMax() - lengths.getMin()) / 2);
    assertArrayEquals(
        ReplyText.bytes(size), String.join("", pieces).getBytes(StandardCharsets.US_ASCII));
  }

  @Test
  void theFirstElementsTakeWhatIsLeft() {
    assertArrayEquals(new String[] {"abc", "de", "fg"}, ReplyText.elements(7, 3));
  }

  @ParameterizedTest
  @CsvSource({"0, 1", "-1, 1", "1048577, 1", "5, 0", "5, -1", "5, 6", "20000, 10001"})
  void refusesWhatIsOutOfBounds(int size, int elements) {
    assertThrows(IllegalArgumentException.class, () -> ReplyText.elements(size, elements));
  }

  @Test
  void saysWhatIsWrong() {
    assertNull(ReplyText.problem(ReplyText.bytes(30), ReplyText.bytes(30)));
    assertEquals(
        "the reply has 29 bytes, not 30",
        ReplyText.problem(ReplyText.bytes(29), ReplyText.bytes(30)));
    byte[] changed = ReplyText.bytes(30);
    changed[7]++;
    assertEquals(
        "byte 7 of the reply is not what was asked for",
        ReplyText.problem(changed, ReplyText.bytes(30)));
    assertEquals(
        "the reply has 3 elements, not 2",
        ReplyText.problem(ReplyText.elements(6, 3), ReplyText.elements(6, 2)));
    assertEquals(
        "element 1 of the reply is not what was asked for",
        ReplyText.problem(new String[] {"a", "c"}, ReplyText.elements(2, 2)));
  }
}
