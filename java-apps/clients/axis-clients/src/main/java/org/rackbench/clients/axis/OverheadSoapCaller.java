package org.rackbench.clients.axis;

import java.io.IOException;
import java.time.Duration;
import javax.xml.namespace.QName;
import javax.xml.rpc.ParameterMode;
import javax.xml.rpc.ServiceException;
import org.apache.axis.Constants;
import org.apache.axis.client.Call;
import org.apache.axis.constants.Use;
import org.rackbench.clients.axis.http.AxisClient;
import org.rackbench.clients.axis.http.KeptConnection;
import org.rackbench.clients.axis.http.WireBytes;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Part;
import org.rackbench.harness.api.Parts;
import org.rackbench.workloads.reply.ReplyText;

/** One client thread's requests on a connection that is opened before the first of them. */
final class OverheadSoapCaller implements Caller {

  private static final QName OPERATION = new QName("urn:rackbench:reply", "reply");

  private final KeptConnection connection;
  private final Parts parts;
  private final Call call;
  private final Object[] arguments;
  private final String[] expected;
  private String[] reply;

  OverheadSoapCaller(String endpoint, int replyBytes, int elements, Duration timeout, Parts parts)
      throws ServiceException, IOException {
    this.parts = parts;
    expected = ReplyText.elements(replyBytes, elements);
    arguments = new Object[] {"?", replyBytes, elements};
    connection = new KeptConnection(endpoint, timeout, parts);
    call = (Call) AxisClient.keptService().createCall();
    call.setTargetEndpointAddress(endpoint);
    call.setOperationName(OPERATION);
    call.setOperationUse(Use.ENCODED);
    call.addParameter("request", Constants.XSD_STRING, ParameterMode.IN);
    call.addParameter("replyBytes", Constants.XSD_INT, ParameterMode.IN);
    call.addParameter("elements", Constants.XSD_INT, ParameterMode.IN);
    call.setReturnType(Constants.SOAP_ARRAY, String[].class);
    call.setTimeout(Math.toIntExact(timeout.toMillis()));
    call.setProperty(KeptConnection.PROPERTY, connection);
    connection.open();
  }

  @Override
  public void prepare(long seq) throws IOException {
    reply = null;
    parts.reset();
    connection.open();
  }

  @Override
  public void call() throws IOException {
    try {
      parts.begin(Part.SERIALISE);
      reply = (String[]) call.invoke(arguments);
      connection.finish();
      parts.begin(Part.REST);
    } catch (IOException | RuntimeException e) {
      connection.close(); // the next prepare reopens it
      throw e;
    }
  }

  @Override
  public Answer verify() {
    WireBytes wire = connection.wire();
    return new Answer(
        ReplyText.problem(reply, expected),
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
