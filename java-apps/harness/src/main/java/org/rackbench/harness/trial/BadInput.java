package org.rackbench.harness.trial;

/**
 * Reports input that the user has to correct. The message names the thing, the reason and the next
 * step.
 */
public final class BadInput extends RuntimeException {

  public BadInput(String message) {
    super(message);
  }
}
