package org.rackbench.axisserver;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The directory for those attachments of one request that are over 16 KB. Axis itself deletes none
 * of them before the JVM ends, so that requests would fill the disk. The number of requests that
 * keep files at one time is limited, and the length of each request is limited elsewhere.
 */
record AttachmentDirectory(Path path, AttachmentDirectories owner) implements AutoCloseable {

  /** Deletes the files and gives the directory back. */
  @Override
  public void close() throws IOException {
    File[] files = path.toFile().listFiles(); // null when somebody has deleted the directory
    try {
      for (File file : files == null ? new File[0] : files) {
        Files.deleteIfExists(file.toPath());
      }
    } finally {
      owner.giveBack(path);
    }
  }
}
