package org.rackbench.clients.jakartajms;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jakarta.jms.BytesMessage;
import jakarta.jms.JMSException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Setting;
import org.rackbench.workloads.matrix.Matrices;
import org.rackbench.workloads.matrix.MatrixBytes;
import org.rackbench.workloads.sorting.IntBytes;
import org.rackbench.workloads.sorting.SortJob;

/** The messages of a client over JMS, and the end of a call that is given up. */
class QueueCallerTest {

  private final FakeBroker broker = new FakeBroker();
  private final List<BytesMessage> late = new ArrayList<>();

  private static Setting setting(boolean pooled) {
    Map<String, Object> constants =
        Map.of("acknowledge", "auto", "persistence", "none", "pooled", pooled);
    return new Setting(
        "t1",
        Map.of("matrix", 3, "integers", 5),
        constants,
        42,
        2,
        1,
        Duration.ofSeconds(60),
        null);
  }

  private static void assertRight(Caller caller, long seq) throws Exception {
    caller.prepare(seq);
    caller.call();
    assertNull(caller.verify().problem());
  }

  @Test
  void aRequestHasNoTimeToLive() throws Exception {
    RequestQueue queue = broker.answeredBy(request -> broker.echo(request, null));
    try (Caller caller = new MatrixJmsCaller(setting(true), queue)) {
      assertRight(caller, 0);
      assertRight(caller, 1);
    }
    // a time to live would be set, or given to send
    assertEquals(List.of("setDeliveryMode1", "send1", "send1"), broker.called);
    assertEquals(1, broker.connections());
  }

  @Test
  void theDataAreDrawnAsThePlanSays() throws Exception {
    RequestQueue queue =
        broker.answeredBy(
            request -> {
              late.add(request);
              broker.echo(request, null);
            });
    try (Caller caller = new MatrixJmsCaller(setting(true), queue)) {
      assertRight(caller, 7);
    }
    assertArrayEquals(MatrixBytes.encode(Matrices.random(3, 42, 7, 2)), body(late.get(0)));
    try (Caller caller = new SortJmsCaller(setting(true), queue, List.of("w1"))) {
      caller.prepare(7);
      caller.call();
    }
    assertArrayEquals(IntBytes.encode(new SortJob(42, 7, 2, 5, 1).split()[0]), body(late.get(1)));
  }

  private static byte[] body(BytesMessage message) throws JMSException {
    byte[] body = new byte[(int) message.getBodyLength()];
    message.readBytes(body);
    return body;
  }

  @Test
  void aCallThatIsGivenUpEndsTheQueueOfItsReplies() throws Exception {
    RequestQueue queue = broker.answeredBy(late::add);
    try (Caller caller = new MatrixJmsCaller(setting(true), queue)) {
      caller.prepare(0);
      TimeoutException e = assertThrows(TimeoutException.class, caller::call);
      assertTrue(e.getMessage().startsWith("no answer to requests within PT1M"), e.getMessage());
      assertFalse(broker.echo(late.get(0), null), "a late reply reaches nobody");
      broker.answeredBy(request -> broker.echo(request, null));
      assertRight(caller, 1);
    }
    assertEquals(2, broker.connections());
  }

  @Test
  void aRefusalEndsTheQueueOfItsReplies() throws Exception {
    RequestQueue queue = broker.answeredBy(request -> broker.echo(request, "no matrix"));
    try (Caller caller = new MatrixJmsCaller(setting(true), queue)) {
      caller.prepare(0);
      IOException e = assertThrows(IOException.class, caller::call);
      assertEquals("a worker refused: no matrix", e.getMessage());
      broker.answeredBy(request -> broker.echo(request, null));
      assertRight(caller, 1);
    }
    assertEquals(2, broker.connections());
  }

  @Test
  void aReplyThatIsNoAnswerEndsTheQueueOfItsReplies() throws Exception {
    RequestQueue queue =
        broker.answeredBy(
            request -> {
              request.writeBytes(new byte[3]);
              broker.echo(request, null);
            });
    try (Caller caller = new SortJmsCaller(setting(true), queue, List.of("w1"))) {
      caller.prepare(0);
      assertThrows(IllegalArgumentException.class, caller::call);
      caller.prepare(1);
    }
    assertEquals(2, broker.connections());
  }

  @Test
  void aConnectionThatCouldNotBeCompletedIsReplacedBeforeTheNextCall() throws Exception {
    RequestQueue queue = broker.answeredBy(late::add);
    try (Caller caller = new MatrixJmsCaller(setting(true), queue)) {
      caller.prepare(0);
      assertThrows(TimeoutException.class, caller::call);
      broker.refuseQueues(true);
      assertThrows(JMSException.class, () -> caller.prepare(1));
      broker.refuseQueues(false);
      broker.answeredBy(request -> broker.echo(request, null));
      assertRight(caller, 2);
    }
    assertEquals(3, broker.connections(), "the first, the incomplete one and its successor");
  }

  @Test
  void aReplyToAnotherCallIsNotTaken() throws Exception {
    RequestQueue queue =
        broker.answeredBy(
            request -> {
              String own = request.getJMSCorrelationID();
              request.setJMSCorrelationID("of another");
              broker.echo(request, "not for this call");
              request.setJMSCorrelationID(own);
              broker.echo(request, null);
            });
    try (Caller caller = new MatrixJmsCaller(setting(true), queue)) {
      assertRight(caller, 0);
    }
  }

  @Test
  void aConnectionThatIsNotPooledIsOfOneCall() throws Exception {
    RequestQueue queue = broker.answeredBy(request -> broker.echo(request, null));
    try (Caller caller = new MatrixJmsCaller(setting(false), queue)) {
      assertRight(caller, 0);
      assertRight(caller, 1);
    }
    assertEquals(3, broker.connections(), "one tries the broker, and one for each call");
  }
}
