package org.rackbench.workloads.hello;

/** The service of the binding study (001): it says back what it is told, over HTTP and over JMS. */
public final class Hello {

  /** The same text; null, which SOAP can send, stays null. */
  public String hello(String text) {
    return text;
  }
}
