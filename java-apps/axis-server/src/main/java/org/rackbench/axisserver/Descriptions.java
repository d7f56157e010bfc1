package org.rackbench.axisserver;

import java.util.Iterator;
import org.apache.axis.AxisFault;
import org.apache.axis.ConfigurationException;
import org.apache.axis.MessageContext;
import org.apache.axis.description.ServiceDesc;
import org.apache.axis.server.AxisServer;

/** Axis's descriptions of the service classes. */
public final class Descriptions {

  private Descriptions() {}

  /**
   * Describes every service before the first request. Axis itself does so during the first request
   * and marks a description as initialised before it is complete. A concurrent second request then
   * gets half a description, or a ConcurrentModificationException.
   */
  public static void complete(AxisServer engine) throws AxisFault {
    MessageContext context = new MessageContext(engine);
    try {
      for (Iterator<?> services = engine.getConfig().getDeployedServices(); services.hasNext(); ) {
        String name = ((ServiceDesc) services.next()).getName();
        engine.getService(name).getInitializedServiceDesc(context);
      }
    } catch (ConfigurationException e) {
      throw AxisFault.makeFault(e);
    }
  }
}
