package org.rackbench.axisserver;

import javax.servlet.ServletException;
import org.apache.axis.AxisFault;
import org.apache.axis.transport.http.AxisServlet;

/**
 * Axis behind HTTP, with guarded parsers and with services that are described before the first
 * request.
 */
public final class GuardedAxisServlet extends AxisServlet {

  private static final long serialVersionUID = 1;

  @Override
  public void init() throws ServletException {
    GuardedParserFactory.install();
    super.init();
    try {
      Descriptions.complete(getEngine());
    } catch (AxisFault e) {
      throw new ServletException("cannot describe the services: " + e.getMessage(), e);
    }
  }
}
