package org.rackbench.harness.trial;

/** Input the user has to correct; the message names the thing, the reason and the next step. */
public final class BadInput extends RuntimeException {

  public BadInput(String message) {
    super(message);
  }
}
