package org.rackbench.clients.axisjms;

import java.io.IOException;
import java.util.concurrent.TimeoutException;
import javax.xml.namespace.QName;
import javax.xml.rpc.ParameterMode;
import org.apache.axis.AxisFault;
import org.apache.axis.Constants;
import org.apache.axis.client.Call;
import org.apache.axis.transport.jms.InvokeTimeoutException;
import org.rackbench.axisjms.AxisJmsClient;
import org.rackbench.axisjms.BrokerClient;
import org.rackbench.axisjms.QueueTransport;
import org.rackbench.axisjms.Step;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Part;
import org.rackbench.harness.api.Parts;
import org.rackbench.harness.api.Setting;
import org.rackbench.workloads.hello.HelloText;

/**
 * One client thread's requests. If pooled, they share one connection, which is opened before the
 * first of them. If not, each has a connection of its own, and the call includes opening and
 * closing it.
 */
final class HelloJmsCaller implements Caller {

  private static final QName OPERATION = new QName("urn:rackbench:hello", "hello");

  private final String queue;
  private final int millis;
  private final boolean pooled;
  private final int messageBytes;
  private final Parts parts;
  private final QueueTransport transport;
  private final Call call;
  private final String text;
  private String answer;

  HelloJmsCaller(Setting setting, BrokerClient broker, int deliveryMode) throws Exception {
    this.queue = broker.queue().getQueueName();
    this.millis = Math.toIntExact(setting.callTimeout().toMillis());
    this.pooled = setting.flag("pooled");
    this.messageBytes = setting.integer("message_bytes");
    this.parts = Parts.of(setting);
    // only then may an observer stand between Axis and the broker's client
    BrokerClient marked = parts.isMarked() ? broker.observed(this::mark) : broker;
    transport = new QueueTransport(marked, deliveryMode, millis, this::mark);
    call = (Call) AxisJmsClient.service().createCall();
    call.setTransport(transport);
    call.setOperationName(OPERATION);
    call.addParameter("text", Constants.XSD_STRING, ParameterMode.IN);
    call.setReturnType(Constants.XSD_STRING);
    call.setTimeout(millis);
    text = HelloText.filling(messageBytes, emptyBytes());
  }

  /**
   * Returns the length in bytes of an envelope with an empty text. It sends such a request, which
   * also checks the service.
   */
  private long emptyBytes() throws Exception {
    transport.open();
    say("");
    if (!pooled) {
      transport.close();
    }
    return requestBytes();
  }

  private void mark(Step step) {
    parts.begin(
        switch (step) {
          case ADMINISTER -> Part.REST;
          case SEND -> Part.SEND;
          case WAIT -> Part.WAIT;
          case READ -> Part.PARSE;
        });
  }

  private String say(String words) throws Exception {
    try {
      parts.begin(Part.SERIALISE);
      String said = (String) call.invoke(new Object[] {words});
      parts.begin(Part.REST);
      return said;
    } catch (AxisFault e) {
      boolean lost = transport.isLost();
      transport.close(); // the next prepare reopens it
      if (lost) {
        throw new IOException("lost the broker; look at its journal", e);
      }
      for (Throwable cause = e; cause != null; cause = cause.getCause()) {
        if (cause instanceof InvokeTimeoutException) {
          TimeoutException timeout =
              new TimeoutException(
                  "no answer to %s within %d ms; look at the journal of rackbench-hello-listener"
                      .formatted(queue, millis));
          timeout.initCause(e);
          throw timeout;
        }
      }
      throw e;
    }
  }

  private long requestBytes() throws AxisFault {
    return call.getMessageContext().getRequestMessage().getContentLength();
  }

  @Override
  public void prepare(long seq) throws Exception {
    answer = null;
    parts.reset();
    if (pooled && !transport.isOpen()) {
      transport.open();
    }
  }

  @Override
  public void call() throws Exception {
    if (pooled) {
      answer = say(text);
    } else {
      transport.open();
      answer = say(text);
      transport.close();
    }
  }

  @Override
  public Answer verify() throws AxisFault {
    long requestBytes = requestBytes();
    return new Answer(
        HelloText.problem(answer, text, requestBytes, messageBytes),
        requestBytes,
        transport.answerBytes(),
        Answer.UNKNOWN,
        Answer.UNKNOWN);
  }

  @Override
  public Parts parts() {
    return parts;
  }

  @Override
  public void close() {
    transport.close();
  }
}
