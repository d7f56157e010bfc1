package org.rackbench.axisserver;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.xml.sax.Attributes;
import org.xml.sax.InputSource;
import org.xml.sax.Locator;
import org.xml.sax.SAXException;
import org.xml.sax.SAXParseException;
import org.xml.sax.helpers.DefaultHandler;

/**
 * A filter between the parser and Axis. It refuses envelopes that cost Axis far more than they cost
 * the sender. A small envelope can make Axis 1.4 fill any heap: by the position of one element in
 * an array, by the declared length of an array, which Axis trusts, or by one long row that many
 * others refer to. The time for nesting and for namespace declarations grows with the square of
 * their number.
 */
final class EnvelopeGuard extends DefaultHandler {

  static final int MAXIMUM_DEPTH = 100;
  static final int MAXIMUM_ATTRIBUTES = 100;

  /**
   * Largest number of array elements that may be declared without being sent; enough for a matrix
   * of 2000 x 2000.
   */
  static final long MAXIMUM_PROMISED = 4_000_000;

  static final int MAXIMUM_REFERENCES = 16;

  private static final Set<String> ENCODINGS =
      Set.of(
          "http://schemas.xmlsoap.org/soap/encoding/", "http://www.w3.org/2003/05/soap-encoding");

  /** The attributes by which an element refers to another one, in SOAP 1.1 and 1.2. */
  private static final Set<String> REFERENCES = Set.of("href", "ref");

  private final DefaultHandler axis;
  private final Map<String, Integer> references = new HashMap<>();
  private int depth;
  private int namespaces;
  private long elements;
  private long promised;

  EnvelopeGuard(DefaultHandler axis) {
    this.axis = axis;
  }

  @Override
  public void startElement(String uri, String localName, String name, Attributes attributes)
      throws SAXException {
    elements++;
    if (++depth > MAXIMUM_DEPTH) {
      throw new SAXException("elements are nested deeper than " + MAXIMUM_DEPTH);
    }
    if (namespaces + attributes.getLength() > MAXIMUM_ATTRIBUTES) {
      throw new SAXException(
          "an element has more than %d attributes".formatted(MAXIMUM_ATTRIBUTES));
    }
    namespaces = 0;
    if (attributes.getLength() > 0) {
      check(attributes);
    }
    axis.startElement(uri, localName, name, attributes);
  }

  private void check(Attributes attributes) throws SAXException {
    for (int i = 0; i < attributes.getLength(); i++) {
      if (ENCODINGS.contains(attributes.getURI(i))) {
        checkArray(attributes.getLocalName(i), attributes.getValue(i));
      } else if (REFERENCES.contains(attributes.getLocalName(i))) {
        checkReference(attributes.getValue(i), attributes.getValue("id"));
      }
    }
  }

  private void checkArray(String name, String value) throws SAXException {
    switch (name) {
      case "position", "offset" ->
          throw new SAXException("an array has to begin at its first element: no " + name);
      case "arrayType" ->
          promise(value.substring(value.lastIndexOf('[') + 1).replace("]", "").strip());
      case "arraySize" -> promise(value.replace("*", "").strip());
      default -> {
        // no other attribute creates an array
      }
    }
  }

  private void promise(String length) throws SAXException {
    if (length.isEmpty()) {
      return;
    }
    try {
      promised += Integer.toUnsignedLong(Integer.parseUnsignedInt(length));
    } catch (NumberFormatException e) {
      throw new SAXException("an array of length '%s' is not accepted".formatted(shown(length)));
    }
    if (promised - elements > MAXIMUM_PROMISED) {
      throw new SAXException(
          "arrays declare more than %d elements that they lack".formatted(MAXIMUM_PROMISED));
    }
  }

  private void checkReference(String href, String id) throws SAXException {
    if (id != null) {
      throw new SAXException("an element is a reference and has an id: '%s'".formatted(shown(id)));
    }
    if (references.merge(href, 1, Integer::sum) > MAXIMUM_REFERENCES) {
      throw new SAXException(
          "more than %d references to '%s'".formatted(MAXIMUM_REFERENCES, shown(href)));
    }
  }

  private static String shown(String text) {
    return text.substring(0, Math.min(40, text.length()));
  }

  @Override
  public void endElement(String uri, String localName, String name) throws SAXException {
    depth--;
    axis.endElement(uri, localName, name);
  }

  @Override
  public void startPrefixMapping(String prefix, String uri) throws SAXException {
    if (++namespaces > MAXIMUM_ATTRIBUTES) {
      throw new SAXException(
          "an element declares more than %d namespaces".formatted(MAXIMUM_ATTRIBUTES));
    }
    axis.startPrefixMapping(prefix, uri);
  }

  @Override
  public void endPrefixMapping(String prefix) throws SAXException {
    axis.endPrefixMapping(prefix);
  }

  @Override
  public void startDocument() throws SAXException {
    axis.startDocument();
  }

  @Override
  public void endDocument() throws SAXException {
    axis.endDocument();
  }

  @Override
  public void characters(char[] text, int start, int length) throws SAXException {
    axis.characters(text, start, length);
  }

  @Override
  public void ignorableWhitespace(char[] text, int start, int length) throws SAXException {
    axis.ignorableWhitespace(text, start, length);
  }

  @Override
  public void processingInstruction(String target, String data) throws SAXException {
    axis.processingInstruction(target, data);
  }

  @Override
  public void skippedEntity(String name) throws SAXException {
    axis.skippedEntity(name);
  }

  @Override
  public void setDocumentLocator(Locator locator) {
    axis.setDocumentLocator(locator);
  }

  @Override
  public InputSource resolveEntity(String publicId, String systemId)
      throws IOException, SAXException {
    throw new SAXException("external entities are not read");
  }

  @Override
  public void warning(SAXParseException e) throws SAXException {
    axis.warning(e);
  }

  @Override
  public void error(SAXParseException e) throws SAXException {
    axis.error(e);
  }

  @Override
  public void fatalError(SAXParseException e) throws SAXException {
    axis.fatalError(e);
  }
}
