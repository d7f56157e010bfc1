package org.rackbench.tomcattesting;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.Valve;
import org.apache.catalina.startup.Tomcat;

/** A Tomcat in this JVM, with one application that the build has packaged, on a free port. */
public final class WarServer implements AutoCloseable {

  private final Tomcat tomcat = new Tomcat();
  private final String url;

  /**
   * @param base an empty directory for Tomcat's own files
   * @param context path of the application, for example /axis
   */
  public WarServer(Path base, String context, Path war) throws IOException, LifecycleException {
    Path file = war.toAbsolutePath().normalize();
    if (!Files.exists(file)) {
      throw new IOException(file + " is not built; run mvn verify, which packages first");
    }
    tomcat.setBaseDir(base.toString());
    tomcat.setPort(0);
    Files.createDirectory(base.resolve("webapps"));
    tomcat.addWebapp(context, file.toString());
    // As on the nodes: Tomcat keeps a connection for any number of requests.
    tomcat.getConnector().setProperty("maxKeepAliveRequests", "-1");
    tomcat.start();
    url = "http://localhost:" + tomcat.getConnector().getLocalPort() + context;
  }

  /** Lets {@code valve} handle every request before the application. */
  public void add(Valve valve) {
    tomcat.getHost().getPipeline().addValve(valve);
  }

  /** Returns the address of the application, without a slash at its end. */
  public String url() {
    return url;
  }

  @Override
  public void close() throws LifecycleException {
    tomcat.stop();
    tomcat.destroy();
  }
}
