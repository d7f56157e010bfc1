package org.rackbench.clients.axis;

import java.io.IOException;
import java.time.Duration;
import javax.xml.namespace.QName;
import javax.xml.rpc.ParameterMode;
import javax.xml.rpc.ServiceException;
import org.apache.axis.Constants;
import org.apache.axis.client.Call;
import org.rackbench.clients.axis.http.AxisClient;
import org.rackbench.clients.axis.http.KeptConnection;
import org.rackbench.clients.axis.http.WireBytes;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Part;
import org.rackbench.harness.api.Parts;
import org.rackbench.workloads.hello.HelloText;

/**
 * One client thread's requests. If pooled, they share one connection, which is opened before the
 * first of them. If not, each has a connection of its own, and the call includes opening and
 * closing it.
 */
final class HelloHttpCaller implements Caller {

  private static final QName OPERATION = new QName("urn:rackbench:hello", "hello");

  private final KeptConnection connection;
  private final Parts parts;
  private final boolean pooled;
  private final int messageBytes;
  private final Call call;
  private final String text;
  private String answer;

  HelloHttpCaller(String endpoint, int messageBytes, boolean pooled, Duration timeout, Parts parts)
      throws ServiceException, IOException {
    this.parts = parts;
    this.messageBytes = messageBytes;
    this.pooled = pooled;
    connection = new KeptConnection(endpoint, timeout, parts);
    call = (Call) AxisClient.keptService().createCall();
    call.setTargetEndpointAddress(endpoint);
    call.setOperationName(OPERATION);
    call.addParameter("text", Constants.XSD_STRING, ParameterMode.IN);
    call.setReturnType(Constants.XSD_STRING);
    call.setTimeout(Math.toIntExact(timeout.toMillis()));
    call.setProperty(KeptConnection.PROPERTY, connection);
    text = HelloText.filling(messageBytes, emptyBytes());
  }

  /**
   * Returns the length in bytes of an envelope with an empty text. It sends such a request, which
   * also checks the service.
   */
  private long emptyBytes() throws IOException {
    connection.open();
    say("");
    long bytes = connection.wire().requestBody();
    connection.close();
    return bytes;
  }

  private String say(String words) throws IOException {
    try {
      parts.begin(Part.SERIALISE);
      String said = (String) call.invoke(new Object[] {words});
      connection.finish();
      parts.begin(Part.REST);
      return said;
    } catch (IOException | RuntimeException e) {
      connection.close(); // the next prepare reopens it
      throw e;
    }
  }

  @Override
  public void prepare(long seq) throws IOException {
    answer = null;
    parts.reset();
    if (pooled) {
      connection.open();
    }
  }

  @Override
  public void call() throws IOException {
    if (pooled) {
      answer = say(text);
    } else {
      connection.open();
      answer = say(text);
      connection.close();
    }
  }

  @Override
  public Answer verify() {
    WireBytes wire = connection.wire();
    return new Answer(
        HelloText.problem(answer, text, wire.requestBody(), messageBytes),
        wire.requestBody(),
        wire.responseBody(),
        wire.requestHeader(),
        wire.responseHeader());
  }

  @Override
  public Parts parts() {
    return parts;
  }

  @Override
  public void close() {
    connection.close();
  }
}
