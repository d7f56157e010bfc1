package org.rackbench.services;

import java.io.File;
import javax.servlet.ServletContext;
import org.apache.axis.transport.http.AxisServlet;

/**
 * Axis's servlet, which keeps attachments in the application's temporary directory: by itself it
 * would write them into the application, which is not to be written to.
 */
public final class SoapServlet extends AxisServlet {

  private static final long serialVersionUID = 1;
  private static final String ATTACHMENTS = "axis.attachments.Directory";

  @Override
  public String getInitParameter(String name) {
    return ATTACHMENTS.equals(name)
        ? ((File) getServletContext().getAttribute(ServletContext.TEMPDIR)).getPath()
        : super.getInitParameter(name);
  }
}
