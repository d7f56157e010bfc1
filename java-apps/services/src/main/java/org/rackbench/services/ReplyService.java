package org.rackbench.services;

import javax.xml.namespace.QName;
import org.apache.axis.AxisFault;
import org.apache.axis.Constants;
import org.rackbench.workloads.reply.ReplyText;

/** The service {@code ReplyService} of the overhead study: a reply of so many bytes in elements. */
public final class ReplyService {

  private static final QName CLIENT = new QName(Constants.URI_SOAP11_ENV, "Client");

  /**
   * Answers at once; the time is the protocol's.
   *
   * @param request one byte, to be as long as the request over TCP; its content is of no matter
   * @param replyBytes 1 to {@link ReplyText#MAXIMUM_BYTES}
   * @param elements 1 to {@code replyBytes}, {@link ReplyText#MAXIMUM_ELEMENTS} at most
   */
  public String[] reply(String request, int replyBytes, int elements) throws AxisFault {
    try {
      return ReplyText.elements(replyBytes, elements);
    } catch (IllegalArgumentException e) {
      throw new AxisFault(CLIENT, e.getMessage(), null, null);
    }
  }
}
