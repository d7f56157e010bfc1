package org.rackbench.reference;

import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.commons.httpclient.DefaultHttpMethodRetryHandler;
import org.apache.commons.httpclient.HttpClient;
import org.apache.commons.httpclient.methods.ByteArrayRequestEntity;
import org.apache.commons.httpclient.methods.PostMethod;
import org.apache.commons.httpclient.params.HttpMethodParams;
import org.rackbench.clients.axis.http.KeptConnection;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Parts;
import org.rackbench.harness.api.Setting;

/**
 * Posts one envelope, a text that is ready, over the kept connection of our SOAP calls, and looks
 * for a part of the answer, as JMeter's HTTP sampler does: the harness without a SOAP stack.
 * Constants {@code envelope} (a file), {@code service} (its path after {@code axis_url}) and {@code
 * expect}.
 */
public final class PostedEnvelope implements Client {

  private Setting setting;
  private String service;
  private byte[] envelope;

  @Override
  public void open(Setting trial) throws IOException {
    setting = trial;
    service = trial.lab().workers(1, "axis_url").get(0) + text("service");
    envelope = Files.readAllBytes(Path.of(text("envelope")));
  }

  private String text(String constant) {
    return (String) setting.constants().get(constant);
  }

  @Override
  public Caller caller(int thread) {
    Parts parts = Parts.of(setting);
    KeptConnection connection = new KeptConnection(service, setting.callTimeout(), parts);
    return new Post(connection, URI.create(service), envelope, text("expect"));
  }

  @Override
  public void close() {}

  private static final class Post implements Caller {

    private final KeptConnection connection;
    private final HttpClient http;
    private final String path;
    private final byte[] envelope;
    private final String expected;
    private byte[] answer;

    private Post(KeptConnection connection, URI service, byte[] envelope, String expected) {
      this.connection = connection;
      this.envelope = envelope;
      this.expected = expected;
      http = new HttpClient(connection);
      http.getHostConfiguration().setHost(service.getHost(), service.getPort());
      http.getParams()
          .setParameter(
              HttpMethodParams.RETRY_HANDLER, new DefaultHttpMethodRetryHandler(0, false));
      path = service.getPath();
    }

    @Override
    public void prepare(long seq) throws IOException {
      connection.open();
      answer = null;
    }

    @Override
    public void call() throws IOException {
      PostMethod post = new PostMethod(path);
      post.setRequestEntity(new ByteArrayRequestEntity(envelope, "text/xml; charset=utf-8"));
      post.setRequestHeader("SOAPAction", "\"\"");
      http.executeMethod(post);
      answer = post.getResponseBody();
    }

    @Override
    public Answer verify() {
      boolean isRight = new String(answer, StandardCharsets.UTF_8).contains(expected);
      return new Answer(
          isRight ? null : "the answer is without '%s'".formatted(expected),
          envelope.length,
          answer.length,
          Answer.UNKNOWN,
          Answer.UNKNOWN);
    }

    @Override
    public void close() {
      connection.close();
    }
  }
}
