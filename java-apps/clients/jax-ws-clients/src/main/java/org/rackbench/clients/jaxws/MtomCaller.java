package org.rackbench.clients.jaxws;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Part;
import org.rackbench.harness.api.Parts;

/** One client thread's payloads. */
final class MtomCaller implements Caller {

  private static final int MAXIMUM_BYTES = 16 * 1024 * 1024;
  private static final long NEXT_CALL = 0x9e3779b97f4a7c15L;

  private final Payload port;
  private final BodyBytes bodies;
  private final long seed;
  private final byte[] payload;
  private byte[] answer;

  MtomCaller(Payload port, BodyBytes bodies, int payloadBytes, long seed) {
    if (payloadBytes < 1 || payloadBytes > MAXIMUM_BYTES) {
      throw new IllegalArgumentException(
          "a payload of %d bytes is not within 1 to %d; correct the level 'payload_bytes'"
              .formatted(payloadBytes, MAXIMUM_BYTES));
    }
    this.port = port;
    this.bodies = bodies;
    this.seed = seed;
    this.payload = new byte[payloadBytes];
  }

  @Override
  public void prepare(long seq) {
    new SplittableRandom(seed + seq * NEXT_CALL).nextBytes(payload);
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
