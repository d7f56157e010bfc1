package org.rackbench.judges;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Setting;

/**
 * Posts one envelope, a text that is ready, over kept connections, and looks for a part of the
 * answer, as JMeter's HTTP sampler does: the harness without a SOAP stack. Constants {@code
 * envelope} (a file), {@code service} (its path after {@code axis_url}) and {@code expect}.
 */
public final class PostedEnvelope implements Client {

  private Setting setting;
  private URL service;
  private byte[] envelope;

  @Override
  public void open(Setting trial) throws IOException {
    setting = trial;
    service = URI.create(trial.lab().workers(1, "axis_url").get(0) + text("service")).toURL();
    envelope = Files.readAllBytes(Path.of(text("envelope")));
    System.setProperty("http.maxConnections", String.valueOf(trial.threads())); // kept ones
  }

  private String text(String constant) {
    return (String) setting.constants().get(constant);
  }

  @Override
  public Caller caller(int thread) {
    return new Post(service, envelope, text("expect"), (int) setting.callTimeout().toMillis());
  }

  @Override
  public void close() {}

  private static final class Post implements Caller {

    private final URL service;
    private final byte[] envelope;
    private final String expected;
    private final int millis;
    private byte[] answer;

    private Post(URL service, byte[] envelope, String expected, int millis) {
      this.service = service;
      this.envelope = envelope;
      this.expected = expected;
      this.millis = millis;
    }

    @Override
    public void prepare(long seq) {
      answer = null;
    }

    @Override
    public void call() throws IOException {
      HttpURLConnection post = (HttpURLConnection) service.openConnection();
      post.setConnectTimeout(millis);
      post.setReadTimeout(millis);
      post.setRequestProperty("Content-Type", "text/xml; charset=utf-8");
      post.setRequestProperty("SOAPAction", "\"\"");
      // Not in a streaming mode: Java would wait 1 ms on a kept connection to see whether it is stale.
      post.setDoOutput(true);
      try (OutputStream request = post.getOutputStream()) {
        request.write(envelope);
      }
      try (InputStream response = post.getInputStream()) {
        answer = response.readAllBytes();
      }
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
    public void close() {}
  }
}
