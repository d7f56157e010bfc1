package org.rackbench.mtom;

import javax.jws.WebMethod;
import javax.jws.WebParam;
import javax.jws.WebResult;
import javax.jws.WebService;

/**
 * The service that returns the payload as base64 in the envelope. MTOM is off, because with MTOM
 * even an inline payload is sent as a multipart.
 */
@WebService(
    name = "Payload",
    serviceName = "PayloadService",
    portName = "Inline",
    targetNamespace = "urn:rackbench:mtom")
public class InlinePayload {

  @WebMethod
  @WebResult(name = "payload")
  public byte[] echo(@WebParam(name = "payload") byte[] payload) {
    return Echo.echo(payload);
  }
}
