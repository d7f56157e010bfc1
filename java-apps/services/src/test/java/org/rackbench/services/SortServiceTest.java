package org.rackbench.services;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The services in the real servlet container, called with hand-made envelopes. */
class SortServiceTest {

  @TempDir static Path base;
  @AutoClose private static Services tomcat;
  private final HttpClient http = HttpClient.newHttpClient();

  @BeforeAll
  static void startTomcat() throws Exception {
    tomcat = new Services(base);
  }

  private static HttpRequest sort(String items) {
    String envelope =
        """
        <soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"
            xmlns:xsd="http://www.w3.org/2001/XMLSchema"
            xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
            xmlns:soapenc="http://schemas.xmlsoap.org/soap/encoding/"><soapenv:Body>
          <s:sort xmlns:s="urn:rackbench:sort"
              soapenv:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/">
            <values xsi:type="soapenc:Array" soapenc:arrayType="xsd:int[]">%s</values>
          </s:sort>
        </soapenv:Body></soapenv:Envelope>"""
            .formatted(items);
    return tomcat.request("Sort", envelope);
  }

  private static String numbers(String answer) {
    return answer
        .replaceAll("(?s).*?<sortReturn [^>]*Array\">", "")
        .replaceAll("</[^>]*>", " ")
        .replaceAll("<[^>]*>", "")
        .strip();
  }

  @Test
  void sorts() throws Exception {
    HttpResponse<String> answer =
        http.send(sort("<i>3</i><i>-1</i><i>2147483647</i><i>2</i>"), BodyHandlers.ofString());
    assertEquals(200, answer.statusCode(), answer.body());
    assertEquals("-1 2 3 2147483647", numbers(answer.body()));
    assertFalse(answer.body().contains("multiRef"), answer.body());
  }

  @Test
  void answersAFaultForWhatIsNoInteger() throws Exception {
    HttpResponse<String> answer = http.send(sort("<i>three</i>"), BodyHandlers.ofString());
    assertEquals(500, answer.statusCode());
    assertTrue(answer.body().contains("Fault"), answer.body());
  }

  /** With Axis's own provider some of these fail with ConcurrentModificationException. */
  @Test
  void sortsManyRequestsAtOnce() throws Exception {
    List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
    for (int i = 0; i < 2000; i++) {
      answers.add(http.sendAsync(sort("<i>2</i><i>1</i>"), BodyHandlers.ofString()));
    }
    for (CompletableFuture<HttpResponse<String>> answer : answers) {
      assertEquals("1 2", numbers(answer.get().body()), answer.get().body());
    }
  }

  @Test
  void wsdlAndItsSchemaNeedNoOtherServer() throws Exception {
    String wsdl = tomcat.get("/services/Sort?wsdl").body();
    assertTrue(wsdl.contains("schemaLocation=\"../soap-encoding.xsd\""), wsdl);
    assertTrue(wsdl.contains("location=\"" + tomcat.url() + "/services/Sort\""), wsdl);
    HttpResponse<String> schema = tomcat.get("/soap-encoding.xsd");
    assertEquals(200, schema.statusCode());
    assertTrue(schema.body().contains("name=\"arrayType\""));
  }

  @Test
  void offersNothingElse() throws Exception {
    assertEquals(404, tomcat.get("/servlet/AdminServlet").statusCode());
    assertEquals(404, tomcat.get("/happyaxis.jsp").statusCode());
    assertFalse(tomcat.get("/services/AdminService?wsdl").body().contains("definitions"));
    assertFalse(tomcat.get("/services/Version?wsdl").body().contains("definitions"));
    assertFalse(tomcat.get("/services").body().contains("Sort"));
  }
}
