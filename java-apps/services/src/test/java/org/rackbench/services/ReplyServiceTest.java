package org.rackbench.services;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.http.HttpResponse;
import java.nio.file.Path;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The service in the real servlet container, called with hand-made envelopes. */
class ReplyServiceTest {

  @TempDir static Path base;
  @AutoClose private static Services tomcat;

  @BeforeAll
  static void startTomcat() throws Exception {
    tomcat = new Services(base);
  }

  private static HttpResponse<String> reply(String replyBytes, String elements) throws Exception {
    String envelope =
        """
        <soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"
            xmlns:xsd="http://www.w3.org/2001/XMLSchema"
            xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>
          <r:reply xmlns:r="urn:rackbench:reply"
              soapenv:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/">
            <request xsi:type="xsd:string">?</request>
            <replyBytes xsi:type="xsd:int">%s</replyBytes>
            <elements xsi:type="xsd:int">%s</elements>
          </r:reply>
        </soapenv:Body></soapenv:Envelope>"""
            .formatted(replyBytes, elements);
    return tomcat.post("Reply", envelope);
  }

  @ParameterizedTest
  @CsvSource({"1, 1", "20000, 1", "20000, 20", "7, 3"})
  void theBytesOfAllElementsAreWhatWasAskedFor(int replyBytes, int elements) throws Exception {
    HttpResponse<String> answer = reply("" + replyBytes, "" + elements);
    assertEquals(200, answer.statusCode(), answer.body());
    assertTrue(answer.body().contains("arrayType=\"xsd:string[" + elements + "]\""), answer.body());
    String array =
        answer
            .body()
            .replaceAll("(?s).*<replyReturn [^>]*:Array\"[^>]*>", "")
            .replaceAll("</soap.*", "");
    assertEquals(elements, array.split("<replyReturn ", -1).length - 1, array);
    assertEquals(replyBytes, array.replaceAll("<[^>]*>", "").length());
  }

  @ParameterizedTest
  @CsvSource({"0, 1", "-1, 1", "1048577, 1", "5, 0", "5, 6", "20000, 10001"})
  void refusesWhatIsOutOfBoundsWithAFault(String replyBytes, String elements) throws Exception {
    HttpResponse<String> answer = reply(replyBytes, elements);
    assertEquals(500, answer.statusCode());
    assertTrue(answer.body().contains("Client</faultcode>"), answer.body());
    assertTrue(answer.body().contains("ask for another"), answer.body());
  }

  @Test
  void refusesWhatIsNoNumberWithAFault() throws Exception {
    HttpResponse<String> answer = reply("many", "1");
    assertEquals(500, answer.statusCode());
    assertTrue(answer.body().contains("Fault"), answer.body());
  }

  @Test
  void hasAWsdlOfItsOwn() throws Exception {
    String wsdl = tomcat.get("/services/Reply?wsdl").body();
    assertTrue(wsdl.contains("part name=\"replyBytes\" type=\"xsd:int\""), wsdl);
    assertTrue(wsdl.contains("location=\"" + tomcat.url() + "/services/Reply\""), wsdl);
  }
}
