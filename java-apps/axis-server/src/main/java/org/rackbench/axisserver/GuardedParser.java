package org.rackbench.axisserver;

import java.io.IOException;
import javax.xml.parsers.SAXParser;
import org.xml.sax.InputSource;
import org.xml.sax.Parser;
import org.xml.sax.SAXException;
import org.xml.sax.SAXNotRecognizedException;
import org.xml.sax.SAXNotSupportedException;
import org.xml.sax.XMLReader;
import org.xml.sax.helpers.DefaultHandler;

/** The JDK's parser with an {@link EnvelopeGuard} between it and its reader. */
final class GuardedParser extends SAXParser {

  private final SAXParser parser;

  GuardedParser(SAXParser parser) {
    this.parser = parser;
  }

  @Override
  public void parse(InputSource source, DefaultHandler handler) throws SAXException, IOException {
    parser.parse(source, new EnvelopeGuard(handler));
  }

  @Override
  @Deprecated
  public Parser getParser() throws SAXException {
    return parser.getParser();
  }

  @Override
  public XMLReader getXMLReader() throws SAXException {
    return parser.getXMLReader();
  }

  @Override
  public boolean isNamespaceAware() {
    return parser.isNamespaceAware();
  }

  @Override
  public boolean isValidating() {
    return parser.isValidating();
  }

  @Override
  public void setProperty(String name, Object value)
      throws SAXNotRecognizedException, SAXNotSupportedException {
    parser.setProperty(name, value);
  }

  @Override
  public Object getProperty(String name)
      throws SAXNotRecognizedException, SAXNotSupportedException {
    return parser.getProperty(name);
  }
}
