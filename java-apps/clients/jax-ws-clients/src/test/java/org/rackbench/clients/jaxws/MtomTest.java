package org.rackbench.clients.jaxws;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Part;
import org.rackbench.harness.api.Parts;
import org.rackbench.harness.api.Setting;
import org.rackbench.harness.trial.LabFile;
import org.rackbench.tomcattesting.WarServer;

/** The client against the WAR that the module mtom-service has built, in a real Tomcat. */
@Timeout(120)
class MtomTest {

  private static final Duration LONG = Duration.ofSeconds(60);
  private static final int MAXIMUM_BYTES = 16 * 1024 * 1024;

  @TempDir static Path base;
  @TempDir Path directory;
  @AutoClose private static WarServer tomcat;

  @BeforeAll
  static void startTomcat() throws Exception {
    tomcat = new WarServer(base, "/mtom", Path.of("../../mtom-service/target/mtom.war"));
  }

  private Caller caller(String url, String encoding, int payloadBytes, Duration callTimeout)
      throws Exception {
    Path lab =
        Files.writeString(
            directory.resolve("lab.json"),
            "{\"schema\":1,\"workers\":[{\"axis_url\":\"%s\"}]}".formatted(url));
    Map<String, Object> factors = Map.of("encoding", encoding, "payload_bytes", payloadBytes);
    Map<String, Object> constants = Map.of("parts", true);
    Mtom client = new Mtom();
    client.open(new Setting("t1", factors, constants, 42, 2, 1, callTimeout, LabFile.read(lab)));
    return client.caller(0);
  }

  private Answer call(String encoding, int payloadBytes) throws Exception {
    String axis = tomcat.url().replace("/mtom", "/axis");
    try (Caller caller = caller(axis, encoding, payloadBytes, LONG)) {
      Answer answer = null;
      for (int seq = 0; seq < 3; seq++) {
        caller.prepare(seq);
        final long begin = System.nanoTime();
        caller.call();
        assertParts(caller.parts(), System.nanoTime() - begin);
        answer = caller.verify();
        assertNull(answer.problem());
      }
      return answer;
    }
  }

  private static void assertParts(Parts parts, long elapsed) {
    long sum = 0;
    for (Part part : List.of(Part.SERIALISE, Part.WAIT, Part.PARSE)) {
      assertTrue(parts.nanos(part) > 0, part + " took " + parts.nanos(part));
      sum += parts.nanos(part);
    }
    assertTrue(sum <= elapsed, sum + " of " + elapsed);
    assertEquals(Parts.UNKNOWN, parts.nanos(Part.SEND));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 1024, 6144, 196_608})
  void inlineIsFourThirdsAndMtomIsThePayloadAndAMultipart(int payloadBytes) throws Exception {
    Answer inline = call("inline", payloadBytes);
    long base64 = (payloadBytes + 2) / 3 * 4L;
    assertWithin(base64 + 100, base64 + 400, inline.requestBytes());
    assertWithin(base64 + 100, base64 + 400, inline.responseBytes());
    Answer mtom = call("mtom", payloadBytes);
    assertWithin(payloadBytes + 600, payloadBytes + 1500, mtom.requestBytes());
    assertWithin(payloadBytes + 600, payloadBytes + 1500, mtom.responseBytes());
  }

  private static void assertWithin(long low, long high, long found) {
    assertTrue(low <= found && found <= high, found + " is not within " + low + " to " + high);
  }

  /** The encodings on the wire, as a client without either sees them. */
  @Test
  void onlyTheEndpointWithMtomSendsAMultipart() throws Exception {
    String payload = "no MTOM unless asked for".repeat(100);
    HttpResponse<String> inline = echo("inline", payload);
    assertTrue(contentType(inline).startsWith("text/xml"), contentType(inline));
    assertTrue(inline.body().contains(base64(payload)), inline.body());
    HttpResponse<String> mtom = echo("mtom", payload);
    assertTrue(contentType(mtom).startsWith("multipart/related"), contentType(mtom));
    assertTrue(contentType(mtom).contains("application/xop+xml"), contentType(mtom));
    assertTrue(mtom.body().contains(payload), mtom.body());
  }

  private static String contentType(HttpResponse<String> answer) {
    return answer.headers().firstValue("Content-Type").orElse("");
  }

  private static String base64(String payload) {
    return Base64.getEncoder().encodeToString(payload.getBytes(StandardCharsets.US_ASCII));
  }

  private static HttpResponse<String> echo(String endpoint, String payload) throws Exception {
    String envelope =
        """
        <s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>
          <m:echo xmlns:m="urn:rackbench:mtom"><payload>%s</payload></m:echo>
        </s:Body></s:Envelope>"""
            .formatted(base64(payload));
    return HttpClient.newHttpClient()
        .send(
            HttpRequest.newBuilder(URI.create(tomcat.url() + "/" + endpoint))
                .header("SOAPAction", "\"\"")
                .header("Content-Type", "text/xml; charset=utf-8")
                .header("Accept", "multipart/related, application/xop+xml, text/xml")
                .POST(BodyPublishers.ofString(envelope))
                .build(),
            BodyHandlers.ofString(StandardCharsets.ISO_8859_1));
  }

  @Test
  void aRequestWithoutPayloadIsAFault() throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(tomcat.url() + "/inline"))
            .header("Content-Type", "text/xml")
            .header("SOAPAction", "\"\"")
            .POST(
                BodyPublishers.ofString(
                    """
                    <s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>
                      <m:echo xmlns:m="urn:rackbench:mtom"/></s:Body></s:Envelope>"""))
            .build();
    HttpResponse<String> answer = HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
    assertEquals(500, answer.statusCode());
    assertTrue(answer.body().contains("the request has no payload"), answer.body());
  }

  @ParameterizedTest
  @ValueSource(strings = {"inline", "mtom"})
  void aPayloadBeyondTheServersLimitIsAFault(String endpoint) throws Exception {
    HttpResponse<String> answer = echo(endpoint, "x".repeat(MAXIMUM_BYTES + 1));
    assertEquals(500, answer.statusCode());
    assertTrue(answer.body().contains("a payload of 16777217 bytes is longer"), answer.body());
  }

  @ParameterizedTest
  @ValueSource(ints = {0, MAXIMUM_BYTES + 1})
  void aPayloadOfNoSizeIsSaidBeforeAnyCall(int payloadBytes) {
    RuntimeException e =
        assertThrows(
            RuntimeException.class, () -> caller("http://localhost:1", "mtom", payloadBytes, LONG));
    assertTrue(e.getMessage().contains("correct the level 'payload_bytes'"), e.getMessage());
  }

  @Test
  void aSilentServerIsATimeout() throws Exception {
    try (ServerSocket silent = new ServerSocket(0);
        Caller caller =
            caller(
                "http://localhost:" + silent.getLocalPort(),
                "inline",
                10,
                Duration.ofMillis(500))) {
      for (int seq = 0; seq < 2; seq++) {
        caller.prepare(seq);
        Exception e = assertThrows(Exception.class, caller::call);
        assertTrue(e.getCause() instanceof SocketTimeoutException, e.toString());
      }
    }
  }
}
