package org.rackbench.packaging;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Map;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;

/**
 * A tar.gz whose bytes depend only on the names and bytes of its files. Its last file is empty and
 * named {@code unpacked}; where it exists, all files before it were unpacked.
 */
final class TarGz {

  private static final String LAST = "unpacked";

  private TarGz() {}

  /**
   * @param entries bytes by name in the archive, written in this order
   */
  static void write(OutputStream out, Map<String, byte[]> entries) throws IOException {
    try (TarArchiveOutputStream tar =
        new TarArchiveOutputStream(new GZIPOutputStream(new BufferedOutputStream(out)))) {
      for (Map.Entry<String, byte[]> file : entries.entrySet()) {
        put(tar, file.getKey(), file.getValue());
      }
      put(tar, LAST, new byte[0]);
    }
  }

  private static void put(TarArchiveOutputStream tar, String name, byte[] bytes)
      throws IOException {
    TarArchiveEntry entry = new TarArchiveEntry(name);
    entry.setSize(bytes.length);
    entry.setModTime(0);
    entry.setIds(0, 0);
    tar.putArchiveEntry(entry);
    tar.write(bytes);
    tar.closeArchiveEntry();
  }
}
