package org.rackbench.clients.jaxws;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rackbench.harness.api.Parts;
import org.rackbench.harness.api.Setting;
import org.rackbench.workloads.data.CallData;

class MtomCallerTest {

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void sendsTheDataThatThePlansDrawingGives(int drawing) {
    List<byte[]> sent = new ArrayList<>();
    Payload echo =
        payload -> {
          sent.add(payload.clone());
          return payload;
        };
    Setting setting =
        new Setting("t1", Map.of(), Map.of(), 42, drawing, 1, Duration.ofSeconds(1), null);
    try (MtomCaller caller = new MtomCaller(echo, new BodyBytes(new Parts(false)), 16, setting)) {
      caller.prepare(7);
      caller.call();
      assertNull(caller.verify().problem());
    }
    byte[] expected = new byte[16];
    CallData.random(42, 7, drawing).nextBytes(expected);
    assertArrayEquals(expected, sent.get(0));
  }
}
