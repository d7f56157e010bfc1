package org.rackbench.harness.runner;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.rackbench.harness.trial.Durable;

/** The two steps of sealing whose order matters in a power cut; a test records them. */
interface Disk {

  Disk REAL =
      new Disk() {
        @Override
        public void sync(Path path) throws IOException {
          Durable.sync(path);
        }

        @Override
        public void move(Path from, Path to) throws IOException {
          Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
        }
      };

  /** Writes a file's bytes, or a directory's entries, to the disk. */
  void sync(Path path) throws IOException;

  /** Renames in one step. */
  void move(Path from, Path to) throws IOException;
}
