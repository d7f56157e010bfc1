package org.rackbench.axisserver;

import javax.servlet.ServletException;
import org.apache.axis.transport.http.AxisServlet;

/** Axis behind HTTP with guarded parsers. */
public final class GuardedAxisServlet extends AxisServlet {

  private static final long serialVersionUID = 1;

  @Override
  public void init() throws ServletException {
    GuardedParserFactory.install();
    super.init();
  }
}
