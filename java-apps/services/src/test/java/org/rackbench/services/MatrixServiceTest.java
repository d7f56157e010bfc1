package org.rackbench.services;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.http.HttpResponse;
import java.nio.file.Path;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The services in the real servlet container, called with hand-made envelopes. */
class MatrixServiceTest {

  @TempDir static Path base;
  @AutoClose private static Services tomcat;

  @BeforeAll
  static void startTomcat() throws Exception {
    tomcat = new Services(base);
  }

  private static HttpResponse<String> getMatrix(String service, String argument) throws Exception {
    String envelope =
        """
        <soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"
            xmlns:xsd="http://www.w3.org/2001/XMLSchema"
            xmlns:soapenc="http://schemas.xmlsoap.org/soap/encoding/"><soapenv:Body>
          <m:getMatrix xmlns:m="urn:rackbench:matrix"
              soapenv:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/">%s</m:getMatrix>
        </soapenv:Body></soapenv:Envelope>"""
            .formatted(argument);
    return tomcat.post(service, envelope);
  }

  private static final String ROWS =
      """
      <matrix soapenc:arrayType="xsd:float[][2]">
        <r soapenc:arrayType="xsd:float[2]"><n>0.5</n><n>-1.25</n></r>
        <r soapenc:arrayType="xsd:float[2]"><n>3.0</n><n>1.0E-10</n></r>
      </matrix>""";

  @Test
  void answersTheMatrixWithoutTypesAndReferences() throws Exception {
    HttpResponse<String> answer = getMatrix("Matrix", ROWS);
    assertEquals(200, answer.statusCode(), answer.body());
    assertTrue(
        answer.body().contains("<matrix>3.0</matrix><matrix>1.0E-10</matrix>"), answer.body());
  }

  @Test
  void answersWithReferencesUnderItsOtherName() throws Exception {
    HttpResponse<String> answer = getMatrix("MatrixMultiRef", ROWS);
    assertEquals(200, answer.statusCode(), answer.body());
    assertTrue(answer.body().contains("xsi:type=\"xsd:float\""), answer.body());
    assertTrue(answer.body().contains("<multiRef id="), answer.body());
  }

  @Test
  void aMissingAttachmentIsAFault() throws Exception {
    for (String argument : new String[] {"", "<matrix/>", "<matrix href=\"cid:none\"/>"}) {
      HttpResponse<String> answer = getMatrix("MatrixAttachment", argument);
      assertEquals(500, answer.statusCode());
      assertTrue(answer.body().contains("Fault"), answer.body());
    }
  }

  @Test
  void haveWsdlsOfTheirOwn() throws Exception {
    for (String service : new String[] {"Matrix", "MatrixMultiRef", "MatrixAttachment"}) {
      String url = tomcat.url() + "/services/" + service;
      String wsdl = tomcat.get("/services/" + service + "?wsdl").body();
      assertTrue(wsdl.contains("location=\"" + url + "\""), wsdl);
    }
  }
}
