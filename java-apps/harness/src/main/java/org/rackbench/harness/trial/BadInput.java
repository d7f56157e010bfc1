package org.rackbench.harness.trial;

/**
 * Input that the user has to correct. The message names the thing, the reason and the next step.
 */
public final class BadInput extends RuntimeException {

  public BadInput(String message) {
    super(message);
  }
}
