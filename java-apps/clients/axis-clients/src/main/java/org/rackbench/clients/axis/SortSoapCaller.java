package org.rackbench.clients.axis;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
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
import org.rackbench.harness.api.Setting;
import org.rackbench.workloads.sorting.SortJob;

/**
 * One client thread's jobs: split, N requests from N threads to N servers, merge. If pooled, each
 * of these threads has a connection that is opened before the first job. If not, each part has a
 * connection of its own, and the job includes opening and closing it.
 */
final class SortSoapCaller implements Caller {

  private static final QName OPERATION = new QName("urn:rackbench:sort", "sort");

  private final Setting setting;
  private final List<String> endpoints;
  private final int integers;
  private final boolean pooled;
  private final List<KeptConnection> connections = new ArrayList<>();
  private List<Call> calls;
  private ExecutorService threads;
  private final Parts parts;

  SortJob job; // read by tests
  private int[][] answers;
  private int[] merged;

  SortSoapCaller(Setting setting, List<String> endpoints) throws ServiceException, IOException {
    this.setting = setting;
    this.endpoints = endpoints;
    this.integers = setting.integer("integers");
    this.pooled = setting.flag("pooled", true);
    this.parts = Parts.of(setting);
    start();
    open();
  }

  @Override
  public void prepare(long seq) throws Exception {
    if (threads.isShutdown()) {
      start();
    }
    open();
    parts.reset();
    connections.forEach(connection -> connection.parts().reset());
    job = new SortJob(setting.seed(), seq, setting.drawing(), integers, endpoints.size());
    answers = new int[endpoints.size()][];
    merged = null;
  }

  private void open() throws IOException {
    if (pooled) {
      for (KeptConnection connection : connections) {
        connection.open();
      }
    }
  }

  @Override
  public void call() throws Exception {
    long end = System.nanoTime() + setting.callTimeout().toNanos();
    parts.begin(Part.SERIALISE);
    int[][] split = job.split();
    parts.begin(Part.REST); // each thread marks the parts of its own request
    List<Future<int[]>> requests = new ArrayList<>(answers.length);
    for (int k = 0; k < answers.length; k++) {
      Call call = calls.get(k);
      KeptConnection connection = connections.get(k);
      Object[] arguments = {split[k]};
      requests.add(threads.submit(() -> sort(call, connection, arguments)));
    }
    try {
      for (int k = 0; k < answers.length; k++) {
        answers[k] = requests.get(k).get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
      }
    } catch (ExecutionException | TimeoutException e) {
      giveUp();
      throw e;
    }
    parts.begin(Part.PARSE);
    merged = SortJob.merge(answers);
    parts.begin(Part.REST);
  }

  private int[] sort(Call call, KeptConnection connection, Object[] arguments) throws IOException {
    if (!pooled) {
      connection.open();
    }
    connection.parts().begin(Part.SERIALISE);
    int[] sorted = (int[]) call.invoke(arguments);
    connection.finish();
    connection.parts().begin(Part.REST);
    if (!pooled) {
      connection.close();
    }
    return sorted;
  }

  /** Ends open requests, so that the next prepare begins with new threads and calls. */
  private void giveUp() {
    threads.shutdownNow();
    connections.forEach(KeptConnection::close);
  }

  @Override
  public Answer verify() {
    long requestHeader = 0;
    long requestBody = 0;
    long responseHeader = 0;
    long responseBody = 0;
    for (KeptConnection connection : connections) {
      WireBytes wire = connection.wire();
      requestHeader += wire.requestHeader();
      requestBody += wire.requestBody();
      responseHeader += wire.responseHeader();
      responseBody += wire.responseBody();
    }
    if (parts.isMarked()) {
      parts.add(lastDone().parts());
    }
    return new Answer(
        job.problem(answers, merged), requestBody, responseBody, requestHeader, responseHeader);
  }

  /**
   * Returns the connection whose request ended last. The job waited for that request between
   * splitting and merging; the other requests ran at the same time and added none.
   */
  private KeptConnection lastDone() {
    return Collections.max(
        connections, Comparator.comparingLong(connection -> connection.parts().lastMark()));
  }

  @Override
  public Parts parts() {
    return parts;
  }

  @Override
  public void close() {
    giveUp();
  }

  private void start() throws ServiceException {
    threads = Executors.newFixedThreadPool(endpoints.size());
    calls = new ArrayList<>();
    connections.clear();
    for (String endpoint : endpoints) {
      KeptConnection connection =
          new KeptConnection(endpoint, setting.callTimeout(), Parts.of(setting));
      Call call = (Call) AxisClient.keptService().createCall();
      call.setProperty(KeptConnection.PROPERTY, connection);
      call.setTargetEndpointAddress(endpoint);
      call.setOperationName(OPERATION);
      call.addParameter("values", Constants.SOAP_ARRAY, int[].class, ParameterMode.IN);
      call.setReturnType(Constants.SOAP_ARRAY, int[].class);
      call.setTimeout(Math.toIntExact(setting.callTimeout().toMillis()));
      calls.add(call);
      connections.add(connection);
    }
  }
}
