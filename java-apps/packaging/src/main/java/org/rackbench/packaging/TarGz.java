package org.rackbench.packaging;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;

/** A tar.gz whose bytes depend on nothing but the names and bytes of its files. */
final class TarGz {

  private TarGz() {}

  /**
   * @param entries name in the archive to file, written in this order
   */
  static void write(OutputStream out, Map<String, Path> entries) throws IOException {
    try (TarArchiveOutputStream tar =
        new TarArchiveOutputStream(new GZIPOutputStream(new BufferedOutputStream(out)))) {
      for (Map.Entry<String, Path> file : entries.entrySet()) {
        TarArchiveEntry entry = new TarArchiveEntry(file.getKey());
        entry.setSize(Files.size(file.getValue()));
        entry.setModTime(0);
        entry.setIds(0, 0);
        tar.putArchiveEntry(entry);
        Files.copy(file.getValue(), tar);
        tar.closeArchiveEntry();
      }
    }
  }
}
