package org.rackbench.harness.trial;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Locale;

/** The files of a JVM's profile. */
public enum ProfileFile {
  /** Stacks, one a line, with the nanoseconds of processor time in each. */
  STACKS(".collapsed"),

  /** The flame graph of the stacks. */
  PAGE(".html"),

  /** A recording for JDK Mission Control and {@code jfr}. */
  RECORDING(".jfr");

  private final String suffix;

  ProfileFile(String suffix) {
    this.suffix = suffix;
  }

  /** Returns the suffix of such a file's name. */
  public String suffix() {
    return suffix;
  }

  /** Returns its key in trial.json and in the answers of nodes. */
  public String key() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * Returns the content of the file that a node sends as {@code text}; recordings are sent in
   * base64.
   *
   * @throws IllegalArgumentException if a recording is not base64
   */
  public byte[] bytes(String text) {
    return this == RECORDING
        ? Base64.getDecoder().decode(text)
        : text.getBytes(StandardCharsets.UTF_8);
  }
}
