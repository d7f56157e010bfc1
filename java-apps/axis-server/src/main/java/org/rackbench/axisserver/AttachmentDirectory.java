package org.rackbench.axisserver;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.axis.AxisFault;

/**
 * The directory for those attachments of one request that are over 16 KB. Axis itself deletes none
 * of them before the JVM ends, so that requests would fill the disk. The number of requests that
 * keep files at one time is limited, and the length of each request is limited elsewhere.
 */
final class AttachmentDirectory implements AutoCloseable {

  static final int MAXIMUM = 32;

  private static final String PREFIX = "axis-request-";

  private final Path path;

  /**
   * @param base directory in which this one is made
   * @throws AxisFault when {@link #MAXIMUM} others are there already
   */
  AttachmentDirectory(Path base) throws IOException {
    int others = 0;
    try (DirectoryStream<Path> found = Files.newDirectoryStream(base, PREFIX + "*")) {
      for (Path other : found) {
        others += Files.isDirectory(other) ? 1 : 0;
      }
    }
    if (others >= MAXIMUM) {
      throw new AxisFault(
          "%d requests with attachments are served already; try again later".formatted(others));
    }
    path = Files.createTempDirectory(base, PREFIX);
  }

  Path path() {
    return path;
  }

  @Override
  public void close() throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(path)) {
      for (Path file : files) {
        Files.deleteIfExists(file);
      }
    }
    Files.deleteIfExists(path);
  }
}
