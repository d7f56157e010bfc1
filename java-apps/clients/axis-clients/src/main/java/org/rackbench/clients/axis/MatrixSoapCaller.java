package org.rackbench.clients.axis;

import java.io.IOException;
import java.rmi.RemoteException;
import java.util.Hashtable;
import javax.activation.DataHandler;
import javax.mail.util.ByteArrayDataSource;
import javax.xml.namespace.QName;
import javax.xml.rpc.ParameterMode;
import javax.xml.rpc.ServiceException;
import org.apache.axis.Constants;
import org.apache.axis.MessageContext;
import org.apache.axis.attachments.ManagedMemoryDataSource;
import org.apache.axis.client.Call;
import org.apache.axis.transport.http.HTTPConstants;
import org.rackbench.clients.axis.http.AxisClient;
import org.rackbench.clients.axis.http.CountingSender;
import org.rackbench.clients.axis.http.WireBytes;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Part;
import org.rackbench.harness.api.Parts;
import org.rackbench.harness.api.Setting;
import org.rackbench.workloads.matrix.Matrices;
import org.rackbench.workloads.matrix.MatrixBytes;

/**
 * One client thread's matrices. The call includes turning the matrix into an attachment and back,
 * but not creating the matrix.
 */
final class MatrixSoapCaller implements Caller {

  private static final QName OPERATION = new QName("urn:rackbench:matrix", "getMatrix");

  private final Setting setting;
  private final RestartingService server;
  private final Parts parts;
  private final boolean attached;
  private final int n;
  private final Call call;
  float[][] matrix; // read by tests
  private float[][] answer;
  private DataHandler response;
  private WireBytes wire;

  MatrixSoapCaller(Setting setting, MatrixEncoding encoding, RestartingService server)
      throws ServiceException {
    this.setting = setting;
    this.server = server;
    this.parts = Parts.of(setting);
    this.attached = encoding.attachment != null;
    this.n = Matrices.checkedSize(setting.integer("matrix"));
    call = (Call) AxisClient.service(encoding.axisDefaults, encoding.axisDefaults).createCall();
    call.setTargetEndpointAddress(server.endpoint());
    call.setOperationName(OPERATION);
    call.setTimeout(Math.toIntExact(setting.callTimeout().toMillis()));
    if (attached) {
      call.setProperty(Call.ATTACHMENT_ENCAPSULATION_FORMAT, encoding.attachment);
      call.addParameter("matrix", Constants.MIME_DATA_HANDLER, ParameterMode.IN);
      call.setReturnType(Constants.MIME_DATA_HANDLER, DataHandler.class);
    } else {
      call.addParameter("matrix", Constants.SOAP_ARRAY, float[][].class, ParameterMode.IN);
      call.setReturnType(Constants.SOAP_ARRAY, float[][].class);
    }
    call.setProperty(CountingSender.PARTS, parts);
    sendInChunks();
  }

  /**
   * Makes Axis send in chunks: the Content-Length that Axis 1.4 announces is 12 bytes short for
   * each MiB of a DIME attachment.
   */
  private void sendInChunks() {
    Hashtable<String, String> headers = new Hashtable<>();
    headers.put(HTTPConstants.HEADER_TRANSFER_ENCODING, "chunked");
    call.setProperty(HTTPConstants.REQUEST_HEADERS, headers);
    call.setProperty(MessageContext.HTTP_TRANSPORT_VERSION, HTTPConstants.HEADER_PROTOCOL_V11);
  }

  @Override
  public void prepare(long seq) {
    deleteResponse();
    answer = null;
    parts.reset();
    matrix = Matrices.random(n, setting.seed(), seq, setting.drawing());
    wire = new WireBytes();
    call.setProperty(WireBytes.PROPERTY, wire);
  }

  @Override
  public void call() throws IOException {
    try {
      parts.begin(Part.SERIALISE);
      answer = attached ? attached() : (float[][]) call.invoke(new Object[] {matrix});
      parts.begin(Part.REST);
    } catch (IOException | RuntimeException e) {
      server.explain(e);
      throw e;
    }
  }

  private float[][] attached() throws IOException, RemoteException {
    DataHandler request =
        new DataHandler(
            new ByteArrayDataSource(MatrixBytes.encode(matrix), "application/octet-stream"));
    response = (DataHandler) call.invoke(new Object[] {request});
    return MatrixBytes.decode(response.getInputStream());
  }

  @Override
  public Answer verify() {
    return new Answer(
        Matrices.problem(answer, matrix),
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
    deleteResponse();
  }

  /** Deletes the received attachment: Axis stores each one in a file and keeps it. */
  private void deleteResponse() {
    if (response != null && response.getDataSource() instanceof ManagedMemoryDataSource received) {
      received.delete();
    }
    response = null;
  }
}
