package org.rackbench.harness.trial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The text of an error about its cause. */
class ErrorTextTest {

  private static final BindException NO_PORT = new BindException("Cannot assign requested address");

  @Test
  void anErrorSaysItsTypeAndMessage() {
    assertEquals(
        "ConnectException: Connection refused",
        ErrorText.of(new ConnectException("Connection refused")));
    assertEquals("java.io.IOException", ErrorText.of(new IOException(" ")));
  }

  @Test
  void aClientWithoutPortsIsNamedAsTheCause() {
    String text = ErrorText.of(NO_PORT);
    assertTrue(text.startsWith("BindException: Cannot assign requested address"), text);
    assertTrue(text.contains("the client ran out of ports"), text);
    assertTrue(text.contains("baseline_port_range"), text);
  }

  @Test
  void soIsItInsideTheErrorsOfATransport() {
    String text = ErrorText.of(new IOException(new IllegalStateException("of Axis", NO_PORT)));
    assertTrue(text.contains("the client ran out of ports"), text);
    assertTrue(
        ErrorText.of(new IOException("no broker", NO_PORT)).startsWith("IOException: no broker"));
  }

  @Test
  void aRingOfCausesEnds() {
    IOException one = new IOException("one");
    one.initCause(new IOException("two", one));
    // in a thread of its own, because an endless loop ignores interrupts
    assertTimeoutPreemptively(
        Duration.ofSeconds(20), () -> assertEquals("IOException: one", ErrorText.of(one)));
  }
}
