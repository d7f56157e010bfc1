package org.rackbench.requestguard;

import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PartBoundsTest {

  private static final String PART = "\r\n--of-no-part\r\nA: b\r\n\r\nx";

  /** Checks the text in pieces of this size, as a network may cut it. */
  private static void see(String text, int piece) throws IOException {
    PartBounds bounds = new PartBounds("of-no-part");
    byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
    for (int i = 0; i < bytes.length; i += piece) {
      bounds.see(bytes, i, Math.min(piece, bytes.length - i));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 8192})
  void asManyPartsAsAllowedPassAndOneMoreDoesNot(int piece) throws IOException {
    see(PART.repeat(PartBounds.MAXIMUM_PARTS), piece);
    assertThrows(IOException.class, () -> see(PART.repeat(PartBounds.MAXIMUM_PARTS + 1), piece));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 8192})
  void whatLooksAlmostLikeABoundaryIsNone(int piece) throws IOException {
    see("\r\n--of-no-par\r\n-of-no-part\r\n --of-no-part".repeat(1000), piece);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 8192})
  void aPartIsSeenWhereverItsLineBegins(int piece) throws IOException {
    StringBuilder parts = new StringBuilder();
    for (int i = 0; i < PartBounds.MAXIMUM_PARTS; i++) {
      // A line feed at each place among eight bytes, and bytes that differ from it in one bit.
      parts.append("\u000b\u008a\u0000\u00ff".repeat(i)).append("y".repeat(i % 8)).append(PART);
    }
    see(parts.toString(), piece);
    assertThrows(IOException.class, () -> see(parts + PART, piece));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 8192})
  void headersAreBoundedAndBodiesAreNot(int piece) throws IOException {
    String lines = "A: b\r\n".repeat(PartBounds.MAXIMUM_HEADER_BYTES);
    see("--of-no-part\r\n\r\n" + lines, piece);
    assertThrows(IOException.class, () -> see("--of-no-part\r\n" + lines, piece));
  }

  @Test
  void aBodyOfOnePartHasNoLimits() throws IOException {
    String text = PART.repeat(2 * PartBounds.MAXIMUM_PARTS) + "\n\n-\n--\n";
    byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
    PartBounds.ofOnePart().see(bytes, 0, bytes.length);
  }
}
