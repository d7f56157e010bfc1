package org.rackbench.clients.axis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.rackbench.harness.api.ServerOutOfMemory;

/** Tests whose lack of memory it was. */
class RestartingServiceTest {

  @Test
  void aFaultThatNamesTheServersMemoryIsOutOfMemory() {
    RestartingService server = new RestartingService("http://localhost/axis");
    ServerOutOfMemory e =
        assertThrows(
            ServerOutOfMemory.class,
            () -> server.explain(new IOException("java.lang.OutOfMemoryError: Java heap space")));
    assertEquals(
        "the server http://localhost/axis ran out of memory:"
            + " java.io.IOException: java.lang.OutOfMemoryError: Java heap space",
        ServerOutOfMemory.reason(e.getMessage(), "the client"));
  }

  @Test
  void aLackOfMemoryOfTheClientIsNotTheServers() throws IOException {
    RestartingService server = new RestartingService("http://localhost/axis");
    server.explain(new IOException("a fault", new OutOfMemoryError("Java heap space")));
    assertFalse(server.wasLost());
  }
}
