package org.rackbench.axisjms;

import java.util.HashMap;
import javax.jms.ConnectionFactory;
import javax.jms.QueueConnectionFactory;
import javax.jms.TopicConnectionFactory;
import org.apache.axis.components.jms.JMSVendorAdapter;
import org.apache.axis.transport.jms.JMSURLHelper;

/**
 * Reports every error of a connection to Axis as permanent. Otherwise Axis would send a request
 * again within the call, which would count as one slow call instead of one error. The adapter looks
 * up no names.
 */
@SuppressWarnings("rawtypes") // as in Axis
final class NoRetryAdapter extends JMSVendorAdapter {

  private volatile boolean isLost;

  /** Returns whether the broker is lost. */
  boolean isLost() {
    return isLost;
  }

  @Override
  public boolean isRecoverable(Throwable thrown, int action) {
    if (action == ON_EXCEPTION_ACTION) {
      isLost = true;
    }
    return false;
  }

  @Override
  public QueueConnectionFactory getQueueConnectionFactory(HashMap properties) {
    throw new UnsupportedOperationException();
  }

  @Override
  public TopicConnectionFactory getTopicConnectionFactory(HashMap properties) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void addVendorConnectionFactoryProperties(JMSURLHelper url, HashMap properties) {
    throw new UnsupportedOperationException();
  }

  @Override
  public boolean isMatchingConnectionFactory(
      ConnectionFactory factory, JMSURLHelper url, HashMap properties) {
    throw new UnsupportedOperationException();
  }
}
