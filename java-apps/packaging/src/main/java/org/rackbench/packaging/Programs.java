package org.rackbench.packaging;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.SortedSet;
import java.util.TreeSet;

/** The programs of a module: {@code programs.properties}, a line {@code name = class} for each. */
final class Programs {

  private static final String FILE = "src/main/resources/META-INF/rackbench/programs.properties";

  private final Path module;

  Programs(Path module) {
    this.module = module;
  }

  /** Returns the names; throws IOException if there is none or a class has no source file. */
  SortedSet<String> names() throws IOException {
    Path file = module.resolve(FILE);
    if (!Files.exists(file)) {
      throw new IOException(file + ": no such file; name the programs of this module in it");
    }
    Properties classes = new Properties();
    try (InputStream in = Files.newInputStream(file)) {
      classes.load(in);
    }
    for (String name : classes.stringPropertyNames()) {
      String source = classes.getProperty(name).replace('.', '/') + ".java";
      if (!Files.exists(module.resolve("src/main/java").resolve(source))) {
        throw new IOException(
            "%s: %s is %s, which has no source file; correct the line"
                .formatted(file, name, classes.getProperty(name)));
      }
    }
    if (classes.isEmpty()) {
      throw new IOException(file + ": no program in it; add a line 'name = class'");
    }
    return new TreeSet<>(classes.stringPropertyNames());
  }
}
