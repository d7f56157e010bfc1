package org.rackbench.harness.api;

/**
 * Divides the time of a call into parts, for one thread. The client marks in the call where a part
 * begins; the part before it ends there, so parts never overlap. Time before the first mark or in
 * {@link Part#REST} belongs to no part. The last mark of a call begins {@code REST}.
 *
 * <p>A mark reads {@code System.nanoTime} once and adds to an array; it creates no object and takes
 * no lock. If the study omits the parts, a mark is one comparison.
 */
public final class Parts {

  /** The time of a part that the client does not measure separately. */
  public static final long UNKNOWN = -1;

  private static final int COUNT = Part.values().length;

  private final long[] nanos; // by part; null if the study omits them
  private int begun; // a bit for each part that has begun in this call
  private int part;
  private long since;

  /**
   * @param isMarked whether marks are kept or ignored
   */
  public Parts(boolean isMarked) {
    nanos = isMarked ? new long[COUNT] : null;
  }

  /** Returns the parts of a trial; they are kept if its constant {@code parts} is true. */
  public static Parts of(Setting setting) {
    return new Parts(setting.flag("parts", false));
  }

  /** Returns whether marks are kept. */
  public boolean isMarked() {
    return nanos != null;
  }

  /** Resets the parts before a call. Belongs in {@link Caller#prepare}. */
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

  /** Adds the parts of a call that another thread has made within this call. */
  public void add(Parts other) {
    if (nanos != null) {
      for (int i = 0; i < COUNT; i++) {
        nanos[i] += other.nanos[i];
      }
      begun |= other.begun;
    }
  }

  /**
   * Returns the nanoseconds of a part in the last call, or {@link #UNKNOWN} if it never began.
   *
   * @param one not {@code REST}
   */
  public long nanos(Part one) {
    boolean isKnown = nanos != null && (begun & 1 << one.ordinal()) != 0;
    return isKnown ? nanos[one.ordinal()] : UNKNOWN;
  }
}
