package org.rackbench.jakartajms;

/** The work of a worker on a request. */
public interface BytesService {

  /** Returns the body of the reply to a request with this body. */
  byte[] answer(byte[] body) throws Refused;

  /** The request itself is wrong, so sending it again would not help. */
  final class Refused extends Exception {

    public Refused(String reason) {
      super(reason);
    }
  }
}
