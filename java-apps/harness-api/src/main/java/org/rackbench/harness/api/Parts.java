package org.rackbench.harness.api;

/**
 * Into which parts the time of a call goes, for one thread. Its client marks in the call where a
 * part begins; the part before it ends there, so parts never overlap. What is before the first mark
 * or in {@link Part#REST} is in no part. The last mark of a call begins {@code REST}.
 *
 * <p>A mark reads {@code System.nanoTime} once and adds to an array; it makes no object and takes
 * no lock. When the study leaves the parts out, a mark is one comparison.
 */
public final class Parts {

  /** The time of a part that the client cannot tell from others. */
  public static final long UNKNOWN = -1;

  private static final int COUNT = Part.values().length;

  private final long[] nanos; // by part; null when they are left out
  private int begun; // a bit for each part that has begun in this call
  private int part;
  private long since;

  /**
   * @param isMarked whether marks are kept, or left out
   */
  public Parts(boolean isMarked) {
    nanos = isMarked ? new long[COUNT] : null;
  }

  /** Returns the parts that a trial asks for: constant {@code parts}, false without it. */
  public static Parts of(Setting setting) {
    return new Parts(setting.flag("parts", false));
  }

  /** Returns whether marks are kept. */
  public boolean isMarked() {
    return nanos != null;
  }

  /** Forgets the last call. Belongs in {@link Caller#prepare}. */
  public void reset() {
    if (nanos != null) {
      for (int i = 0; i < COUNT; i++) {
        nanos[i] = 0;
      }
      begun = 0;
      part = 0;
    }
  }

  /** Marks that a part begins, and that the one before it ends. */
  public void begin(Part next) {
    if (nanos != null) {
      long now = System.nanoTime();
      nanos[part] += now - since; // of REST, whose sum has no meaning, also before the first mark
      since = now;
      part = next.ordinal();
      begun |= 1 << part;
    }
  }

  /** Returns {@code System.nanoTime()} at the last mark. */
  public long lastMark() {
    return since;
  }

  /** Adds the parts of a call, which another thread has made as a part of this call. */
  public void add(Parts other) {
    if (nanos != null) {
      for (int i = 0; i < COUNT; i++) {
        nanos[i] += other.nanos[i];
      }
      begun |= other.begun;
    }
  }

  /**
   * Returns the nanoseconds of a part in the last call, or {@link #UNKNOWN} when it never began.
   *
   * @param one not {@code REST}
   */
  public long nanos(Part one) {
    boolean isKnown = nanos != null && (begun & 1 << one.ordinal()) != 0;
    return isKnown ? nanos[one.ordinal()] : UNKNOWN;
  }
}
