package org.rackbench.jakartajms;

/** What a worker does with a request. */
public interface BytesService {

  /** Returns the body of the reply to a request with this body. */
  byte[] answer(byte[] body) throws Refused;

  /** The request itself is wrong: sending it again would not help. */
  final class Refused extends Exception {

    public Refused(String reason) {
      super(reason);
    }
  }
}
