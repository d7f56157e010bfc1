package org.rackbench.services;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
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

  /** Returns the request that sends an envelope to a service. */
  HttpRequest request(String service, String envelope) {
    return HttpRequest.newBuilder(URI.create(url() + "/services/" + service))
        .header("SOAPAction", "\"\"")
        .header("Content-Type", "text/xml; charset=utf-8")
        .POST(BodyPublishers.ofString(envelope))
        .build();
  }

  /** Sends an envelope to a service and returns its answer. */
  HttpResponse<String> post(String service, String envelope) throws Exception {
    return HttpClient.newHttpClient().send(request(service, envelope), BodyHandlers.ofString());
  }

  /** Gets what is at a path of the application. */
  HttpResponse<String> get(String path) throws Exception {
    return HttpClient.newHttpClient()
        .send(HttpRequest.newBuilder(URI.create(url() + path)).build(), BodyHandlers.ofString());
  }

  @Override
  public void close() throws LifecycleException {
    tomcat.stop();
    tomcat.destroy();
  }
}
