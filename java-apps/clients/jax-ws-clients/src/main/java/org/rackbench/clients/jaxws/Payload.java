package org.rackbench.clients.jaxws;

import javax.jws.WebMethod;
import javax.jws.WebParam;
import javax.jws.WebResult;
import javax.jws.WebService;

/** The port of both services. */
@WebService(name = "Payload", targetNamespace = "urn:rackbench:mtom")
public interface Payload {

  @WebMethod
  @WebResult(name = "payload")
  byte[] echo(@WebParam(name = "payload") byte[] payload);
}
