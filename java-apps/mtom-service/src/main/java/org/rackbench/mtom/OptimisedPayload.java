package org.rackbench.mtom;

import javax.jws.WebMethod;
import javax.jws.WebParam;
import javax.jws.WebResult;
import javax.jws.WebService;
import javax.xml.ws.soap.MTOM;

/** The service that returns the payload, even a short one, in a MIME part of its own. */
@MTOM(threshold = 0)
@WebService(
    name = "Payload",
    serviceName = "PayloadService",
    portName = "Mtom",
    targetNamespace = "urn:rackbench:mtom")
public class OptimisedPayload {

  @WebMethod
  @WebResult(name = "payload")
  public byte[] echo(@WebParam(name = "payload") byte[] payload) {
    return Echo.echo(payload);
  }
}
