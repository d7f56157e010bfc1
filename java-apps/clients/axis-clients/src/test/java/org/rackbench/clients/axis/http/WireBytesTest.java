package org.rackbench.clients.axis.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class WireBytesTest {

  private static final String HEAD = "HTTP/1.1 200 OK\r\nX: y\r\n\r\n";
  private static final String BODY = "a\r\n\r\nb";

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 7, 25, 26, 1000})
  void tellsHeadFromBodyHoweverTheBytesArrive(int chunk) {
    byte[] bytes = (HEAD + BODY).getBytes(StandardCharsets.US_ASCII);
    WireBytes wire = new WireBytes();
    for (int at = 0; at < bytes.length; at += chunk) {
      if (chunk == 1) {
        wire.response.count(bytes[at]);
      } else {
        wire.response.count(bytes, at, Math.min(chunk, bytes.length - at));
      }
    }
    assertEquals(HEAD.length(), wire.responseHeader());
    assertEquals(BODY.length(), wire.responseBody());
    assertEquals(0, wire.requestBody());
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 7, 500, 1023, 1024, 1025, 5000})
  void countsWhatIsLongerThanWhatItKeeps(int chunk) {
    String head = "X: %s\r\nTransfer-Encoding: chunked\r\n\r\n".formatted("y".repeat(500));
    String frames = "3e8\r\n%s\r\n7d0\r\n%s\r\n0\r\n\r\n";
    String message = head + frames.formatted("\n".repeat(1000), "0".repeat(2000));
    byte[] bytes = message.getBytes(StandardCharsets.US_ASCII);
    WireBytes wire = new WireBytes();
    for (int at = 0; at < bytes.length; at += chunk) {
      wire.response.count(bytes, at, Math.min(chunk, bytes.length - at));
    }
    assertEquals(3000, wire.responseBody());
    assertEquals(bytes.length - 3000, wire.responseHeader());
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 7, 25, 26, 1000})
  void countsChunksWithoutTheirFrames(int chunk) {
    String message =
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "b\r\nabcdefghi\r\n\r\n3;x=y\r\nabc\r\n0\r\n\r\n";
    byte[] bytes = message.getBytes(StandardCharsets.US_ASCII);
    WireBytes wire = new WireBytes();
    for (int turn = 0; turn < 2; turn++) {
      wire.reset();
      for (int at = 0; at < bytes.length; at += chunk) {
        wire.request.count(bytes, at, Math.min(chunk, bytes.length - at));
      }
      assertEquals(11 + 3, wire.requestBody());
      assertEquals(bytes.length - 14, wire.requestHeader());
    }
  }
}
