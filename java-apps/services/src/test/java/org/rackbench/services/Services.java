package org.rackbench.services;

import java.nio.file.Path;
import org.apache.catalina.Context;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.WebResourceRoot;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.webresources.DirResourceSet;
import org.apache.catalina.webresources.StandardRoot;

/** The real servlet container with this module's services, not packaged yet. */
final class Services implements AutoCloseable {

  private final Tomcat tomcat;

  Services(Path base) throws LifecycleException {
    tomcat = new Tomcat();
    tomcat.setBaseDir(base.toString());
    tomcat.setPort(0);
    tomcat.getConnector();
    tomcat.getHost().setAppBase(base.toString());
    Context context =
        tomcat.addWebapp("/axis", Path.of("src/main/webapp").toAbsolutePath().toString());
    WebResourceRoot resources = new StandardRoot(context);
    String classes = Path.of("target/classes").toAbsolutePath().toString();
    resources.addPreResources(new DirResourceSet(resources, "/WEB-INF/classes", classes, "/"));
    context.setResources(resources);
    tomcat.start();
  }

  String url() {
    return "http://localhost:" + tomcat.getConnector().getLocalPort() + "/axis";
  }

  @Override
  public void close() throws LifecycleException {
    tomcat.stop();
    tomcat.destroy();
  }
}
