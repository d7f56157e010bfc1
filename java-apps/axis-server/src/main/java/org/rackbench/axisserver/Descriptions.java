package org.rackbench.axisserver;

import java.util.Iterator;
import org.apache.axis.AxisFault;
import org.apache.axis.ConfigurationException;
import org.apache.axis.MessageContext;
import org.apache.axis.description.ServiceDesc;
import org.apache.axis.server.AxisServer;

/** What Axis knows of the classes of the services. */
public final class Descriptions {

  private Descriptions() {}

  /**
   * Describes every service before the first request. Axis itself does so in the first request and
   * marks a description as initialised when it has only begun: a second request at the same time
   * gets half of it, or a ConcurrentModificationException.
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
