package org.rackbench.workers.sort;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.rackbench.messaging.BytesService;
import org.rackbench.sorting.IntBytes;

class SortWorkerTest {

  @Test
  void sortsAPart() throws Exception {
    byte[] sorted = SortWorker.sort(IntBytes.encode(new int[] {3, -1, 2}));
    assertArrayEquals(new int[] {-1, 2, 3}, IntBytes.decode(sorted));
  }

  @Test
  void refusesWhatAreNoIntegers() {
    assertThrows(BytesService.Refused.class, () -> SortWorker.sort(new byte[5]));
  }
}
