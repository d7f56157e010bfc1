package org.rackbench.axisserver;

import javax.xml.parsers.ParserConfigurationException;
import javax.xml.parsers.SAXParser;
import javax.xml.parsers.SAXParserFactory;
import org.apache.axis.utils.XMLUtils;
import org.xml.sax.SAXException;
import org.xml.sax.SAXNotRecognizedException;
import org.xml.sax.SAXNotSupportedException;

/**
 * Creates the parsers that Axis reads requests with. They refuse a DOCTYPE and limit everything
 * else.
 */
public final class GuardedParserFactory extends SAXParserFactory {

  private static final String NO_DOCTYPE = "http://apache.org/xml/features/disallow-doctype-decl";
  private static final String PROPERTY = "javax.xml.parsers.SAXParserFactory";

  private final SAXParserFactory jdk = SAXParserFactory.newDefaultInstance();

  /** Makes Axis use guarded parsers from now on; a class loader has one Axis. */
  public static void install() {
    String before = System.getProperty(PROPERTY);
    XMLUtils.initSAXFactory(GuardedParserFactory.class.getName(), true, false);
    if (before == null) {
      System.clearProperty(PROPERTY); // Axis sets it for the whole JVM, where this class is unknown
    }
  }

  @Override
  public SAXParser newSAXParser() throws ParserConfigurationException, SAXException {
    jdk.setNamespaceAware(isNamespaceAware());
    jdk.setValidating(isValidating());
    jdk.setFeature(NO_DOCTYPE, true);
    return new GuardedParser(jdk.newSAXParser());
  }

  @Override
  public void setFeature(String name, boolean value)
      throws ParserConfigurationException, SAXNotRecognizedException, SAXNotSupportedException {
    jdk.setFeature(name, value);
  }

  @Override
  public boolean getFeature(String name)
      throws ParserConfigurationException, SAXNotRecognizedException, SAXNotSupportedException {
    return jdk.getFeature(name);
  }
}
