package org.rackbench.clients.jakartajms;

import jakarta.jms.JMSException;
import jakarta.jms.Message;
import java.time.Duration;
import java.util.Arrays;
import org.rackbench.harness.api.Setting;

/**
 * One client thread's messages. In this package because all but the body is {@link QueueCaller}'s.
 */
final class EchoJmsCaller extends QueueCaller {

  private final byte[] body;
  private String id;
  private byte[] answer;

  EchoJmsCaller(Setting setting, RequestQueue queue) throws JMSException {
    super(setting, queue);
    body = new byte[setting.integer("message_bytes")];
    tryConnection();
  }

  @Override
  void makeInput(long seq) {
    id = Long.toString(seq);
    answer = null;
  }

  @Override
  int sendAll() throws JMSException {
    send(request(body, id));
    return 1;
  }

  @Override
  int awaited(String correlationId) {
    return id.equals(correlationId) ? 0 : -1;
  }

  @Override
  void take(int number, Message reply, byte[] bytes) {
    answer = bytes;
  }

  @Override
  String overdue(Duration timeout) {
    return "no answer within %s; is rackbench-echo active on the worker?".formatted(timeout);
  }

  @Override
  String problem() {
    return Arrays.equals(answer, body) ? null : "the answer is not what was sent";
  }
}
