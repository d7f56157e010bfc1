package org.rackbench.clients.jaxws;

import java.util.Arrays;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Part;
import org.rackbench.harness.api.Parts;
import org.rackbench.harness.api.Setting;
import org.rackbench.workloads.data.CallData;

/** One client thread's payloads. */
final class MtomCaller implements Caller {

  private static final int MAXIMUM_BYTES = 16 * 1024 * 1024;

  private final Payload port;
  private final BodyBytes bodies;
  private final Setting setting;
  private final byte[] payload;
  private byte[] answer;

  MtomCaller(Payload port, BodyBytes bodies, int payloadBytes, Setting setting) {
    if (payloadBytes < 1 || payloadBytes > MAXIMUM_BYTES) {
      throw new IllegalArgumentException(
          "a payload of %d bytes is not within 1 to %d; correct the level 'payload_bytes'"
              .formatted(payloadBytes, MAXIMUM_BYTES));
    }
    this.port = port;
    this.bodies = bodies;
    this.setting = setting;
    this.payload = new byte[payloadBytes];
  }

  @Override
  public void prepare(long seq) {
    CallData.random(setting.seed(), seq, setting.drawing()).nextBytes(payload);
    answer = null;
    bodies.reset();
  }

  @Override
  public void call() {
    bodies.parts().begin(Part.SERIALISE);
    answer = port.echo(payload);
    bodies.parts().begin(Part.REST);
  }

  @Override
  public Answer verify() {
    String problem = Arrays.equals(answer, payload) ? null : "the answer is not what was sent";
    return new Answer(problem, bodies.request(), bodies.response(), Answer.UNKNOWN, Answer.UNKNOWN);
  }

  @Override
  public Parts parts() {
    return bodies.parts();
  }

  @Override
  public void close() {}
}
