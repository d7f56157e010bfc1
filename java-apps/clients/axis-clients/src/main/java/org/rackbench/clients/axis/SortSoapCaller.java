package org.rackbench.clients.axis;

import java.util.ArrayList;
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
import org.rackbench.clients.axis.http.WireBytes;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Setting;
import org.rackbench.workloads.sorting.SortJob;

/**
 * One client thread's jobs: N requests from N threads to N servers; the job ends when all parts are
 * there.
 */
final class SortSoapCaller implements Caller {

  private static final QName OPERATION = new QName("urn:rackbench:sort", "sort");

  private final Setting setting;
  private final List<String> endpoints;
  private final int integers;
  private List<Call> calls;
  private ExecutorService threads;

  private SortJob job;
  private int[][] answers;
  private WireBytes[] wires;

  SortSoapCaller(Setting setting, List<String> endpoints) throws ServiceException {
    this.setting = setting;
    this.endpoints = endpoints;
    this.integers = setting.integer("integers");
    start();
  }

  @Override
  public void prepare(long seq) throws Exception {
    if (threads.isShutdown()) {
      start();
    }
    job = new SortJob(setting.seed(), seq, integers, endpoints.size());
    answers = new int[endpoints.size()][];
    wires = new WireBytes[endpoints.size()];
    for (int k = 0; k < wires.length; k++) {
      wires[k] = new WireBytes();
      calls.get(k).setProperty(WireBytes.PROPERTY, wires[k]);
    }
  }

  @Override
  public void call() throws Exception {
    long end = System.nanoTime() + setting.callTimeout().toNanos();
    List<Future<int[]>> parts = new ArrayList<>(answers.length);
    for (int k = 0; k < answers.length; k++) {
      Call call = calls.get(k);
      Object[] arguments = {job.parts()[k]};
      parts.add(threads.submit(() -> (int[]) call.invoke(arguments)));
    }
    try {
      for (int k = 0; k < answers.length; k++) {
        answers[k] = parts.get(k).get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
      }
    } catch (ExecutionException | TimeoutException e) {
      threads.shutdownNow(); // what is still under way is left to its own threads and calls
      throw e;
    }
  }

  @Override
  public Answer verify() {
    long requestHeader = 0;
    long requestBody = 0;
    long responseHeader = 0;
    long responseBody = 0;
    for (WireBytes wire : wires) {
      requestHeader += wire.requestHeader();
      requestBody += wire.requestBody();
      responseHeader += wire.responseHeader();
      responseBody += wire.responseBody();
    }
    return new Answer(
        job.problem(answers), requestBody, responseBody, requestHeader, responseHeader);
  }

  @Override
  public void close() {
    threads.shutdownNow();
  }

  private void start() throws ServiceException {
    threads = Executors.newFixedThreadPool(endpoints.size());
    calls = new ArrayList<>();
    for (String endpoint : endpoints) {
      Call call = (Call) AxisClient.service(false, true).createCall();
      call.setTargetEndpointAddress(endpoint);
      call.setOperationName(OPERATION);
      call.addParameter("values", Constants.SOAP_ARRAY, int[].class, ParameterMode.IN);
      call.setReturnType(Constants.SOAP_ARRAY, int[].class);
      call.setTimeout(Math.toIntExact(setting.callTimeout().toMillis()));
      calls.add(call);
    }
  }
}
