package org.rackbench.packaging;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The third-party files that dist may contain. {@code artefacts.sha256} has a line for each:
 * SHA-256, file name and coordinates, separated by blanks; {@code #} starts a comment. A file may
 * be pinned in several versions, a line each; it must then be of the version that is built.
 */
final class Artefacts {

  private record Pin(String sha256, String coordinates) {

    /** Returns whether the coordinates, which may name a file in an archive, have this version. */
    boolean isOf(String version) {
      return coordinates.replaceFirst("!.*", "").endsWith(":" + version);
    }
  }

  private final Path list;
  private final String version;
  private final Map<String, List<Pin>> pins = new LinkedHashMap<>();

  /**
   * @param version the version to use of a file that is pinned in several
   */
  Artefacts(Path list, String version) throws IOException {
    this.list = list;
    this.version = version;
    List<String> lines = Files.readAllLines(list);
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i).strip();
      if (!line.isEmpty() && !line.startsWith("#")) {
        String[] words = line.split("\\s+");
        if (words.length != 3 || !add(words[1], new Pin(words[0], words[2]))) {
          throw new IOException(
              "%s:%d: not 'sha256 file coordinates', or a file named twice; correct the line"
                  .formatted(list, i + 1));
        }
      }
    }
  }

  private boolean add(String name, Pin pin) {
    List<Pin> versions = pins.computeIfAbsent(name, absent -> new ArrayList<>());
    boolean isNew = versions.stream().noneMatch(o -> o.coordinates().equals(pin.coordinates()));
    return isNew && versions.add(pin);
  }

  /** Returns the faults of the files for dist; empty if there are none. */
  List<String> problems(Collection<Path> files) throws IOException {
    List<String> problems = new ArrayList<>();
    Set<String> unused = new HashSet<>(pins.keySet());
    for (Path file : files) {
      String name = file.getFileName().toString();
      String found = sha256(file);
      Pin pin = pin(name);
      unused.remove(name);
      if (pin == null) {
        problems.add(
            "%s is not pinned: found sha256 %s (%s); if it belongs there, add the line, or else run mvn clean"
                .formatted(name, found, file));
      } else if (!pin.sha256().equals(found)) {
        problems.add(
            "%s (%s): wanted sha256 %s, found %s; remove it from the local Maven repository and"
                    .formatted(name, pin.coordinates(), pin.sha256(), found)
                + " build again; if it stays, do not use it before you know why it changed");
      }
    }
    for (String name : unused) {
      problems.add("%s is pinned but not part of dist any more; remove the line".formatted(name));
    }
    return problems.stream().distinct().map(problem -> list + ": " + problem).toList();
  }

  private Pin pin(String name) {
    List<Pin> versions = pins.getOrDefault(name, List.of());
    return versions.stream()
        .filter(pin -> versions.size() == 1 || pin.isOf(version))
        .findFirst()
        .orElse(null);
  }

  private static String sha256(Path file) throws IOException {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file));
      return HexFormat.of().formatHex(digest);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // every Java platform has it
    }
  }
}
