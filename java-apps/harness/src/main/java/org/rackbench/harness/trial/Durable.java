package org.rackbench.harness.trial;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Stream;

/**
 * Writes files so that they survive a power cut, and removes files. A file survives if its bytes
 * and the entries of the directories above it are on the disk.
 */
public final class Durable {

  private Durable() {}

  /** Creates or replaces {@code file}. Its bytes are on the disk when this returns. */
  public static void write(Path file, byte[] bytes) throws IOException {
    try (FileChannel channel =
        FileChannel.open(
            file,
            StandardOpenOption.CREATE,
            StandardOpenOption.WRITE,
            StandardOpenOption.TRUNCATE_EXISTING)) {
      ByteBuffer buffer = ByteBuffer.wrap(bytes);
      while (buffer.hasRemaining()) {
        channel.write(buffer);
      }
      channel.force(true);
    }
  }

  /**
   * Replaces {@code file} in one step: a reader sees the old bytes or the new ones. The new ones
   * are on the disk when this returns.
   */
  public static void replace(Path file, byte[] bytes) throws IOException {
    Path beside = beside(file);
    write(beside, bytes);
    Files.move(beside, file, StandardCopyOption.ATOMIC_MOVE);
    sync(file.toAbsolutePath().getParent());
  }

  /**
   * Replaces {@code file} in one step and does not wait for the disk. After a power cut it may be
   * the old file, the new one or an empty one.
   */
  public static void replaceSoon(Path file, byte[] bytes) throws IOException {
    Path beside = beside(file);
    Files.write(beside, bytes);
    Files.move(beside, file, StandardCopyOption.ATOMIC_MOVE);
  }

  /** Returns the file that holds the new bytes while {@code file} is replaced; a kill leaves it. */
  public static Path beside(Path file) {
    return file.resolveSibling(file.getFileName() + ".new");
  }

  /** Writes a file's bytes, or a directory's entries, to the disk. */
  public static void sync(Path path) throws IOException {
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }

  /**
   * Writes the entries of a directory and of its parents to the disk, as far as they are readable
   * and on the same file system.
   */
  public static void syncUpwards(Path directory) throws IOException {
    FileStore disk = Files.getFileStore(directory);
    Path above = directory.toAbsolutePath();
    while (above != null && Files.isReadable(above) && Files.getFileStore(above).equals(disk)) {
      sync(above);
      above = above.getParent();
    }
  }

  /**
   * Removes a directory with its content; a missing directory is no error. It removes links but not
   * their targets. It also removes files and directories whose permissions a program took away.
   */
  public static void remove(Path directory) throws IOException {
    if (isDirectory(directory)) {
      if (!Files.isReadable(directory)
          || !Files.isWritable(directory)
          || !Files.isExecutable(directory)) {
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
      }
      empty(directory);
      Files.delete(directory);
    }
  }

  /** Removes the content of a directory. */
  public static void empty(Path directory) throws IOException {
    try (Stream<Path> entries = Files.list(directory)) {
      for (Path entry : entries.toList()) {
        if (isDirectory(entry)) {
          remove(entry);
        } else {
          Files.delete(entry);
        }
      }
    }
  }

  private static boolean isDirectory(Path path) {
    return Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS);
  }
}
