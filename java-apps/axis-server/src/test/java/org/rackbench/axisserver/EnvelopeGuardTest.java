package org.rackbench.axisserver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.xml.sax.Attributes;
import org.xml.sax.SAXException;
import org.xml.sax.helpers.AttributesImpl;
import org.xml.sax.helpers.DefaultHandler;

/** The lengths of arrays that an envelope may declare, and the references it may have. */
class EnvelopeGuardTest {

  private static final String ENCODING = "http://schemas.xmlsoap.org/soap/encoding/";

  private final List<String> seenByAxis = new ArrayList<>();
  private final EnvelopeGuard guard =
      new EnvelopeGuard(
          new DefaultHandler() {
            @Override
            public void startElement(String uri, String local, String name, Attributes attributes) {
              seenByAxis.add(name);
            }
          });

  /** Sends an element that declares an array, and ends it. */
  private void array(String attribute, String value) throws SAXException {
    AttributesImpl attributes = new AttributesImpl();
    attributes.addAttribute(ENCODING, attribute, "e:" + attribute, "CDATA", value);
    element(attributes);
  }

  private void reference(String attribute, String to) throws SAXException {
    AttributesImpl attributes = new AttributesImpl();
    attributes.addAttribute("", attribute, attribute, "CDATA", to);
    element(attributes);
  }

  private void element(Attributes attributes) throws SAXException {
    guard.startElement("", "values", "values", attributes);
    guard.endElement("", "values", "values");
  }

  private String refusal(String attribute, String value) {
    return assertThrows(SAXException.class, () -> array(attribute, value)).getMessage();
  }

  @Test
  void arraysAreAcceptedUpToTheLimitOfAllTogether() throws SAXException {
    array("arrayType", "xsd:float[3000000]");
    array("arrayType", "xsd:float[][1000000]");
    array("arrayType", "xsd:float[]");
    array("arraySize", "* 4"); // the four elements sent so far make room for as many
    assertEquals(4, seenByAxis.size());
    String said = refusal("arrayType", "xsd:float[2]");
    assertEquals("arrays declare more than 4000000 elements that they lack", said);
    assertEquals(4, seenByAxis.size(), "Axis sees nothing of it");
  }

  @ParameterizedTest
  @CsvSource({
    "arrayType, xsd:int[4000002]",
    "arrayType, xsd:int[2147483647]",
    "arrayType, xsd:int[2147483648]", // the least number that is negative as an int
    "arrayType, xsd:int[4294967295]",
    "arraySize, 3000000000",
  })
  void alsoALengthBeyondAnIntCounts(String attribute, String value) {
    String said = refusal(attribute, value);
    assertEquals("arrays declare more than 4000000 elements that they lack", said);
  }

  @ParameterizedTest
  @ValueSource(strings = {"xsd:int[-5]", "xsd:int[2,3]", "xsd:int[4294967296]", "xsd:int[x]"})
  void aLengthThatIsNoNumberIsRefused(String type) {
    String said = refusal("arrayType", type);
    assertTrue(said.contains("is not accepted"), said);
  }

  @ParameterizedTest
  @ValueSource(strings = {"href", "ref"}) // of SOAP 1.1 and of SOAP 1.2
  void anElementHasAsManyReferencesAsAllowedAndNoMore(String attribute) throws SAXException {
    for (int i = 0; i < EnvelopeGuard.MAXIMUM_REFERENCES; i++) {
      reference(attribute, "#row");
    }
    reference(attribute, "#another");
    String said = assertThrows(SAXException.class, () -> reference(attribute, "#row")).getMessage();
    assertEquals("more than 16 references to '#row'", said);
  }
}
