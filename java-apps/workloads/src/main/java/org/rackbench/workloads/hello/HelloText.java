package org.rackbench.workloads.hello;

/**
 * The text "HelloHelloHello…", just long enough for the envelope of a request to have the size that
 * the study demands.
 */
public final class HelloText {

  private static final String WORD = "Hello";

  /** Largest envelope in bytes that a client sends. */
  public static final int MAXIMUM_BYTES = 16 * 1024 * 1024;

  private HelloText() {}

  /**
   * Returns the text that fills an envelope.
   *
   * @param messageBytes wanted size of the whole envelope
   * @param emptyBytes size of the envelope with an empty text
   */
  public static String filling(int messageBytes, long emptyBytes) {
    long length = messageBytes - emptyBytes;
    if (length < 1 || messageBytes > MAXIMUM_BYTES) {
      throw new IllegalArgumentException(
          "a message of %d bytes is not within %d (an empty envelope) to %d; correct the level 'message_bytes'"
              .formatted(messageBytes, emptyBytes + 1, MAXIMUM_BYTES));
    }
    return WORD.repeat((int) (length / WORD.length() + 1)).substring(0, (int) length);
  }

  /** Returns the fault of a call, or null. */
  public static String problem(String answer, String text, long requestBytes, int messageBytes) {
    if (!text.equals(answer)) {
      return "the answer is not the text that was sent";
    }
    return requestBytes == messageBytes
        ? null
        : "the request was %d bytes, not %d".formatted(requestBytes, messageBytes);
  }
}
