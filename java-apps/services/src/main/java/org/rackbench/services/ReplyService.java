package org.rackbench.services;

import javax.xml.namespace.QName;
import org.apache.axis.AxisFault;
import org.apache.axis.Constants;
import org.rackbench.workloads.reply.ReplyText;

/**
 * The service {@code Reply} of the overhead study returns a given number of bytes in a given number
 * of elements.
 */
public final class ReplyService {

  private static final QName CLIENT = new QName(Constants.URI_SOAP11_ENV, "Client");

  /**
   * Returns the reply without delay, so that a call spends its time in the protocol.
   *
   * @param request one byte, as long as the request over TCP; its content is ignored
   * @param replyBytes 1 to {@link ReplyText#MAXIMUM_BYTES}
   * @param elements 1 to {@code replyBytes}, at most {@link ReplyText#MAXIMUM_ELEMENTS}
   */
  public String[] reply(String request, int replyBytes, int elements) throws AxisFault {
    try {
      return ReplyText.elements(replyBytes, elements);
    } catch (IllegalArgumentException e) {
      throw new AxisFault(CLIENT, e.getMessage(), null, null);
    }
  }
}
