package org.rackbench.axisserver;

import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.servlet.ServletException;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;

/**
 * Reports Tomcat's settings to this node's health service, one {@code name=value} a line: the
 * connector's settings from its MBean, with times in milliseconds, and the JVM's version and
 * collectors.
 */
public final class SettingsServlet extends HttpServlet {

  private static final long serialVersionUID = 1;

  private static final List<String> CONNECTOR =
      List.of(
          "acceptCount",
          "compression",
          "connectionTimeout",
          "keepAliveTimeout",
          "maxConnections",
          "maxKeepAliveRequests",
          "maxThreads",
          "minSpareThreads",
          "tcpNoDelay");

  @Override
  protected void doGet(HttpServletRequest request, HttpServletResponse response)
      throws ServletException, IOException {
    if (!request.getRemoteAddr().equals(request.getLocalAddr())) {
      response.sendError(HttpServletResponse.SC_FORBIDDEN); // the health service is on this node
      return;
    }
    response.setContentType("text/plain");
    response.setCharacterEncoding("UTF-8");
    PrintWriter lines = response.getWriter();
    lines.println("jdk=" + System.getProperty("java.version"));
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      lines.println("collector=" + collector.getName());
    }
    try {
      MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
      for (ObjectName name : beans.queryNames(new ObjectName("*:type=Connector,*"), null)) {
        for (String setting : CONNECTOR) {
          Object value = beans.getAttribute(name, setting);
          if (value != null) {
            lines.println(setting + "=" + value);
          }
        }
      }
    } catch (JMException e) {
      throw new ServletException("cannot read the connector's settings: " + e, e);
    }
  }
}
