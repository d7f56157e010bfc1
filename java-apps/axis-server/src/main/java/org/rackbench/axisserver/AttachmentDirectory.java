package org.rackbench.axisserver;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The directory for those attachments of one request that are over 16 KB. Axis itself deletes none
 * of them before the JVM ends, so requests would fill the disk. {@link AttachmentDirectories}
 * limits how many requests keep files at one time; {@code RequestGuard} limits the length of each
 * request.
 */
record AttachmentDirectory(Path path, AttachmentDirectories owner) implements AutoCloseable {

  /** Deletes the files and returns the directory. */
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
