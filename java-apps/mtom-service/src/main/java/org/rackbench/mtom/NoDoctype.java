package org.rackbench.mtom;

import com.sun.xml.ws.api.streaming.XMLStreamReaderFactory;
import java.io.InputStream;
import java.io.Reader;
import javax.servlet.ServletContextEvent;
import javax.servlet.ServletContextListener;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import javax.xml.stream.util.StreamReaderDelegate;

/** Makes the JAX-WS of this application refuse a DOCTYPE, which it skips by default. */
public class NoDoctype implements ServletContextListener {

  @Override
  public void contextInitialized(ServletContextEvent started) {
    // JAX-WS keeps one factory for each application's class loader.
    XMLStreamReaderFactory.set(new Factory(XMLStreamReaderFactory.get()));
  }

  private static final class Factory extends XMLStreamReaderFactory {

    private final XMLStreamReaderFactory lenient;

    Factory(XMLStreamReaderFactory lenient) {
      this.lenient = lenient;
    }

    @Override
    public XMLStreamReader doCreate(String systemId, InputStream in, boolean rejectDTDs) {
      return new Strict(lenient.doCreate(systemId, in, rejectDTDs));
    }

    @Override
    public XMLStreamReader doCreate(String systemId, Reader in, boolean rejectDTDs) {
      return new Strict(lenient.doCreate(systemId, in, rejectDTDs));
    }

    @Override
    public void doRecycle(XMLStreamReader reader) {
      lenient.doRecycle(reader instanceof Strict strict ? strict.getParent() : reader);
    }
  }

  private static final class Strict extends StreamReaderDelegate {

    Strict(XMLStreamReader lenient) {
      super(lenient);
    }

    @Override
    public int next() throws XMLStreamException {
      int event = super.next();
      if (event == DTD) {
        throw new XMLStreamException("DOCTYPE is disallowed", getLocation());
      }
      return event;
    }
  }
}
