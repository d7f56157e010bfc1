package org.rackbench.mtom;

import javax.xml.ws.WebServiceException;

/** The work of both services: they return the payload unchanged. */
final class Echo {

  /** Longest payload in bytes that the services accept. */
  static final int MAXIMUM_BYTES = 16 * 1024 * 1024;

  private Echo() {}

  static byte[] echo(byte[] payload) {
    if (payload == null) {
      throw new WebServiceException("the request has no payload");
    }
    if (payload.length > MAXIMUM_BYTES) {
      throw new WebServiceException(
          "a payload of %d bytes is longer than %d; send less"
              .formatted(payload.length, MAXIMUM_BYTES));
    }
    return payload;
  }
}
