package org.rackbench.harness.trial;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Locale;

/** The files of a JVM's profile. */
public enum ProfileFile {
  /** Stacks, one a line, with the nanoseconds of processor time in each. */
  STACKS(".collapsed"),

  /** The flame graph of them. */
  PAGE(".html"),

  /** What JDK Mission Control and {@code jfr} open. */
  RECORDING(".jfr");

  private final String suffix;

  ProfileFile(String suffix) {
    this.suffix = suffix;
  }

  /** Returns how the name of such a file ends. */
  public String suffix() {
    return suffix;
  }

  /** Returns its key in trial.json and in the answers of nodes. */
  public String key() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * Returns what is in the file that a node sends as {@code text}: a recording is sent in base64.
   *
   * @throws IllegalArgumentException if it is not
   */
  public byte[] bytes(String text) {
    return this == RECORDING
        ? Base64.getDecoder().decode(text)
        : text.getBytes(StandardCharsets.UTF_8);
  }
}
