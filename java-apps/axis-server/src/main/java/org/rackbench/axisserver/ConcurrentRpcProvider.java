package org.rackbench.axisserver;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.xml.namespace.QName;
import org.apache.axis.AxisFault;
import org.apache.axis.MessageContext;
import org.apache.axis.attachments.Attachments;
import org.apache.axis.description.JavaServiceDesc;
import org.apache.axis.description.OperationDesc;
import org.apache.axis.handlers.soap.SOAPService;
import org.apache.axis.providers.java.RPCProvider;

/**
 * Axis's RPC provider for a JDK after 7. Axis 1.4 sorts one shared list of operations in every
 * request ({@code JavaServiceDesc.getOperationsByQName}); since Java 8 two concurrent requests make
 * {@code ArrayList.sort} throw ConcurrentModificationException. With this provider each request
 * sorts a copy.
 */
public final class ConcurrentRpcProvider extends RPCProvider {

  private static final long serialVersionUID = 1;

  /** Answers the request and then deletes the files of its attachments. */
  @Override
  public void invoke(MessageContext context) throws AxisFault {
    if (!hasAttachments(context)) {
      super.invoke(context);
      return;
    }
    String base = context.getStrProp(MessageContext.ATTACHMENTS_DIR);
    try (AttachmentDirectory directory =
        AttachmentDirectories.of(context.getAxisEngine())
            .take(Path.of(base == null ? System.getProperty("java.io.tmpdir") : base))) {
      context.setProperty(MessageContext.ATTACHMENTS_DIR, directory.path().toString());
      super.invoke(context);
    } catch (AxisFault e) {
      throw e;
    } catch (IOException e) {
      throw AxisFault.makeFault(e);
    }
  }

  private static boolean hasAttachments(MessageContext context) {
    Attachments attachments = context.getRequestMessage().getAttachmentsImpl();
    return attachments != null
        && (attachments.getSendType() == Attachments.SEND_TYPE_MIME
            || attachments.getSendType() == Attachments.SEND_TYPE_DIME);
  }

  @Override
  public void initServiceDesc(SOAPService service, MessageContext context) throws AxisFault {
    super.initServiceDesc(service, context);
    JavaServiceDesc description = (JavaServiceDesc) service.getServiceDescription();
    description.getOperationsByQName(new QName("")); // makes Axis fill its map
    nameReturn(service, description);
    for (String operations : List.of("qname2OperationsMap", "name2OperationsMap")) {
      copyWhatIsSorted(description, operations);
    }
  }

  private static void copyWhatIsSorted(JavaServiceDesc description, String operations)
      throws AxisFault {
    try {
      Field field = JavaServiceDesc.class.getDeclaredField(operations);
      field.setAccessible(true);
      field.set(description, new CopyingMap((Map<?, ?>) field.get(description)));
    } catch (ReflectiveOperationException e) {
      throw AxisFault.makeFault(e);
    }
  }

  /** Parameter {@code returnName} of a service; Axis's own is the operation's with "Return". */
  private static void nameReturn(SOAPService service, JavaServiceDesc description) {
    if (service.getOption("returnName") instanceof String name) {
      for (Object operation : description.getOperations()) {
        ((OperationDesc) operation).setReturnQName(new QName(name));
      }
    }
  }

  /** A HashMap, because Axis's field has that type. */
  private static final class CopyingMap extends HashMap<Object, Object> {

    private static final long serialVersionUID = 1;

    CopyingMap(Map<?, ?> operations) {
      super(operations);
    }

    @Override
    public Object get(Object name) {
      return super.get(name) instanceof List<?> overloads ? new ArrayList<>(overloads) : null;
    }
  }
}
