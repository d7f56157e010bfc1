package org.rackbench.axisserver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.axis.AxisFault;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AttachmentDirectoriesTest {

  private final AttachmentDirectories directories = new AttachmentDirectories();
  @TempDir Path base;

  @Test
  void theNextRequestGetsTheSameDirectoryEmpty() throws IOException {
    Path file;
    try (AttachmentDirectory first = directories.take(base)) {
      file = Files.createFile(first.path().resolve("attachment"));
    }
    assertFalse(Files.exists(file));
    try (AttachmentDirectory second = directories.take(base);
        AttachmentDirectory beside = directories.take(base)) {
      assertEquals(file.getParent(), second.path());
      assertNotEquals(second.path(), beside.path());
    }
  }

  @Test
  void aDirectoryThatSomebodyDeletedIsMadeAnew() throws IOException {
    AttachmentDirectory taken = directories.take(base);
    Files.delete(taken.path());
    taken.close();
    try (AttachmentDirectory next = directories.take(base)) {
      assertTrue(Files.isDirectory(next.path()));
    }
  }

  @Test
  void soManyAreTakenAndNoMoreUntilOneIsGivenBack() throws IOException {
    List<AttachmentDirectory> taken = new ArrayList<>();
    for (int i = 0; i < AttachmentDirectories.MAXIMUM; i++) {
      taken.add(directories.take(base));
    }
    assertThrows(AxisFault.class, () -> directories.take(base));
    taken.get(5).close();
    assertEquals(taken.get(5).path(), directories.take(base).path());
  }
}
