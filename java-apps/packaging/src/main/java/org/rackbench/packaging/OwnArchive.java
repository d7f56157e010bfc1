package org.rackbench.packaging;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.LocalDateTime;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;

/** A jar or WAR of rackbench, without the file modes that Maven takes from the checkout. */
final class OwnArchive {

  private static final LocalDateTime TIME = LocalDateTime.of(2026, 1, 1, 0, 0);

  private OwnArchive() {}

  /**
   * Returns the same entries, in bytes that depend only on the names and contents of the entries.
   *
   * @param ours returns by its name whether an entry is itself an archive of rackbench
   */
  static byte[] plain(InputStream archive, Predicate<String> ours) throws IOException {
    Map<String, byte[]> entries = new TreeMap<>();
    ZipInputStream in = new ZipInputStream(archive);
    for (ZipEntry entry = in.getNextEntry(); entry != null; entry = in.getNextEntry()) {
      byte[] bytes = in.readAllBytes();
      boolean nested = ours.test(entry.getName());
      entries.put(entry.getName(), nested ? plain(new ByteArrayInputStream(bytes), ours) : bytes);
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (ZipOutputStream zip = new ZipOutputStream(out)) {
      for (Map.Entry<String, byte[]> entry : entries.entrySet()) {
        ZipEntry copy = new ZipEntry(entry.getKey());
        copy.setTimeLocal(TIME);
        zip.putNextEntry(copy);
        zip.write(entry.getValue());
        zip.closeEntry();
      }
    }
    return out.toByteArray();
  }
}
