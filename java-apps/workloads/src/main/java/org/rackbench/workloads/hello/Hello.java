package org.rackbench.workloads.hello;

/**
 * The service of the binding study (001): it returns the text that it is sent, over HTTP and over
 * JMS.
 */
public final class Hello {

  /** Returns the same text; null, which SOAP can send, stays null. */
  public String hello(String text) {
    return text;
  }
}
