package org.rackbench.harness.trial;

import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;

/** Wall-clock time as the logs write it: UTC, ISO-8601, microseconds. */
public final class Utc {

  private static final DateTimeFormatter FORMAT =
      DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'").withZone(ZoneOffset.UTC);

  private Utc() {}

  public static String now() {
    return FORMAT.format(Instant.now());
  }
}
