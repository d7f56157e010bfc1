package org.rackbench.workers.sort;

import jakarta.jms.BytesMessage;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import org.rackbench.sorting.InsertionSort;
import org.rackbench.sorting.IntBytes;

/** From the body of a request to the body of its reply. */
final class Part {

  private final long maximumBytes;

  /**
   * @param maximumBytes longest body that is taken
   */
  Part(long maximumBytes) {
    this.maximumBytes = maximumBytes;
  }

  /** Sorts a request's integers; throws {@link Refused} when they are none. */
  byte[] sort(Message request) throws JMSException, Refused {
    if (!(request instanceof BytesMessage body)) {
      throw new Refused("not a BytesMessage");
    }
    long length = body.getBodyLength();
    if (length > maximumBytes) {
      throw new Refused(
          "body of %d bytes is longer than this worker takes, %d".formatted(length, maximumBytes));
    }
    byte[] bytes = new byte[(int) length];
    body.readBytes(bytes);
    int[] values;
    try {
      values = IntBytes.decode(bytes);
    } catch (IllegalArgumentException e) {
      throw new Refused(e.getMessage());
    }
    InsertionSort.sort(values);
    return IntBytes.encode(values);
  }

  /** The request itself is wrong: sending it again would not help. */
  static final class Refused extends Exception {

    Refused(String reason) {
      super(reason);
    }
  }
}
