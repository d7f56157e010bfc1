package org.rackbench.clients.axis;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rackbench.harness.api.Setting;
import org.rackbench.workloads.matrix.Matrices;
import org.rackbench.workloads.sorting.SortJob;

/** The clients send the data of the plan's drawing. */
class DataOfCallsTest {

  private static final String ENDPOINT = "http://localhost/axis"; // nothing is sent

  private static Setting setting(int drawing) {
    Map<String, Object> factors = Map.of("matrix", 3, "integers", 5, "pooled", false);
    return new Setting("t1", factors, Map.of(), 42, drawing, 1, Duration.ofSeconds(1), null);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void integers(int drawing) throws Exception {
    try (SortSoapCaller caller = new SortSoapCaller(setting(drawing), List.of(ENDPOINT))) {
      caller.prepare(7);
      assertArrayEquals(new SortJob(42, 7, drawing, 5, 1).split(), caller.job.split());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void matrices(int drawing) throws Exception {
    RestartingService server = new RestartingService(ENDPOINT);
    try (MatrixSoapCaller caller =
        new MatrixSoapCaller(setting(drawing), MatrixEncoding.XML, server)) {
      caller.prepare(7);
      assertArrayEquals(Matrices.random(3, 42, 7, drawing), caller.matrix);
    }
  }
}
