package org.rackbench.workloads.program;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A file that exists while a worker program serves; its unit waits for it. */
public final class ReadyFile {

  /** The option of a command line that {@link #of} reads. */
  public static final String OPTION = "--ready-file";

  private final Path file;

  private ReadyFile(Path file) {
    this.file = file;
  }

  /** Returns the file that the command line names; without a name it writes nothing. */
  public static ReadyFile of(Arguments arguments) {
    String name = arguments.text(OPTION, "");
    return new ReadyFile(name.isEmpty() ? null : Path.of(name));
  }

  /** Writes the file; {@code line} is for people who read it. */
  public void write(String line) throws IOException {
    if (file != null) {
      Files.writeString(file, line + "\n");
    }
  }

  /** Removes the file if it exists. */
  public void remove() throws IOException {
    if (file != null) {
      Files.deleteIfExists(file);
    }
  }
}
