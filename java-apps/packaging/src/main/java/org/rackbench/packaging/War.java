package org.rackbench.packaging;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.Comparator;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/** The WAR without the file modes that Maven takes over from the checkout (its umask). */
final class War {

  private static final LocalDateTime TIME = LocalDateTime.of(2026, 1, 1, 0, 0);

  private War() {}

  static void write(OutputStream out, Path war) throws IOException {
    try (ZipFile in = new ZipFile(war.toFile());
        ZipOutputStream zip = new ZipOutputStream(out)) {
      List<? extends ZipEntry> entries =
          in.stream().sorted(Comparator.comparing(ZipEntry::getName)).toList();
      for (ZipEntry entry : entries) {
        ZipEntry copy = new ZipEntry(entry.getName());
        copy.setTimeLocal(TIME);
        zip.putNextEntry(copy);
        in.getInputStream(entry).transferTo(zip);
        zip.closeEntry();
      }
    }
  }
}
