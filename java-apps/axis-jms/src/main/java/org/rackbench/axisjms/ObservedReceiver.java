package org.rackbench.axisjms;

import java.util.function.Consumer;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageListener;
import javax.jms.Queue;
import javax.jms.QueueReceiver;

/** A receiver of one answer that reports when it waits, has the answer and is closed. */
final class ObservedReceiver implements QueueReceiver {

  private final QueueReceiver receiver;
  private final Consumer<Step> steps;

  ObservedReceiver(QueueReceiver receiver, Consumer<Step> steps) {
    this.receiver = receiver;
    this.steps = steps;
  }

  @Override
  public Message receive(long millis) throws JMSException {
    steps.accept(Step.WAIT);
    Message message = receiver.receive(millis);
    steps.accept(Step.READ);
    return message;
  }

  @Override
  public void close() throws JMSException {
    steps.accept(Step.ADMINISTER);
    receiver.close();
  }

  @Override
  public Message receive() throws JMSException {
    return receiver.receive();
  }

  @Override
  public Message receiveNoWait() throws JMSException {
    return receiver.receiveNoWait();
  }

  @Override
  public Queue getQueue() throws JMSException {
    return receiver.getQueue();
  }

  @Override
  public String getMessageSelector() throws JMSException {
    return receiver.getMessageSelector();
  }

  @Override
  public MessageListener getMessageListener() throws JMSException {
    return receiver.getMessageListener();
  }

  @Override
  public void setMessageListener(MessageListener listener) throws JMSException {
    receiver.setMessageListener(listener);
  }
}
