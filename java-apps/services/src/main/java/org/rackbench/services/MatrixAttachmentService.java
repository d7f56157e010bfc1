package org.rackbench.services;

import java.io.IOException;
import javax.activation.DataHandler;
import javax.mail.util.ByteArrayDataSource;
import javax.xml.namespace.QName;
import org.apache.axis.AxisFault;
import org.apache.axis.Constants;
import org.rackbench.workloads.matrix.MatrixBytes;

/**
 * The service {@code MatrixAttachment} (004, section 3.1): the matrix is a serialised object in an
 * attachment, and the answer has the format of the request, MIME or DIME. Like the standard SOAP
 * service, it turns the request into a {@code float[][]} and that back into a message.
 */
public final class MatrixAttachmentService {

  private static final QName CLIENT = new QName(Constants.URI_SOAP11_ENV, "Client");

  public DataHandler getMatrix(DataHandler attachment) throws AxisFault {
    if (attachment == null) {
      throw new AxisFault(CLIENT, "the request has no attachment; attach a matrix", null, null);
    }
    try {
      float[][] matrix = MatrixBytes.decode(attachment.getInputStream());
      return new DataHandler(
          new ByteArrayDataSource(MatrixBytes.encode(matrix), "application/octet-stream"));
    } catch (IOException e) {
      throw new AxisFault(CLIENT, "the attachment is " + e.getMessage(), null, null);
    }
  }
}
