package org.rackbench.jakartajms;

/** What a worker makes of a request. */
public interface BytesService {

  /** From the body of a request to the body of its reply. */
  byte[] answer(byte[] body) throws Refused;

  /** The request itself is wrong: sending it again would not help. */
  final class Refused extends Exception {

    public Refused(String reason) {
      super(reason);
    }
  }
}
