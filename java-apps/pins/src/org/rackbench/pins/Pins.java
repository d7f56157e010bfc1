package org.rackbench.pins;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.maven.eventspy.AbstractEventSpy;
import org.eclipse.aether.RepositoryEvent;
import org.eclipse.aether.artifact.Artifact;

/**
 * Checks each file that Maven resolves, plug-ins and their dependencies first of all, before Maven
 * uses it. {@code -Drackbench.pins=FILE} names the list: a line each of SHA-256 and coordinates.
 * With {@code -Drackbench.pins.add=true} files that are not in the list are added to it at the end;
 * a file with another SHA-256 than listed ends the build all the same.
 */
public final class Pins extends AbstractEventSpy {

  private static final String OWN = "org.rackbench";

  private final Path list = Path.of(System.getProperty("rackbench.pins"));
  private final boolean adds = Boolean.getBoolean("rackbench.pins.add");
  private final Map<String, String> pinned = new ConcurrentHashMap<>();
  private final Map<Path, String> proven = new ConcurrentHashMap<>();

  @Override
  public void init(Context context) throws IOException {
    try (Stream<String> lines = Files.lines(list)) {
      lines
          .map(String::strip)
          .filter(line -> !line.isEmpty() && !line.startsWith("#"))
          .map(line -> line.split("\\s+"))
          .forEach(words -> pinned.put(words[1], words[0]));
    } catch (IOException | RuntimeException e) {
      stop("%s cannot be used (%s); correct the line".formatted(list, e));
    }
    Files.createFile(Path.of(System.getProperty("rackbench.pins.read")));
  }

  @Override
  public void onEvent(Object event) {
    if (event instanceof RepositoryEvent resolved
        && resolved.getType() == RepositoryEvent.EventType.ARTIFACT_RESOLVED
        && resolved.getFile() != null
        && !resolved.getArtifact().getGroupId().startsWith(OWN)) {
      Path file = resolved.getFile().toPath().toAbsolutePath().normalize();
      proven.computeIfAbsent(file, path -> prove(resolved.getArtifact(), path));
    }
  }

  private String prove(Artifact artifact, Path file) {
    String name = artifact.toString();
    String found = sha256(file);
    String wanted = adds ? pinned.computeIfAbsent(name, absent -> found) : pinned.get(name);
    if (!found.equals(wanted)) {
      stop(
          "%s: wanted SHA-256 %s of %s, found %s; nothing of it was used. If it is new here, add the line; if not,"
                  .formatted(file, wanted == null ? "(none)" : wanted, name, found)
              + " remove the file and build again, and find out why it changed");
    }
    return found;
  }

  @Override
  public void close() throws IOException {
    if (adds) {
      String head;
      try (Stream<String> lines = Files.lines(list)) {
        head = lines.filter(l -> l.startsWith("#")).map(l -> l + "\n").collect(Collectors.joining());
      }
      String lines =
          new TreeMap<>(pinned)
              .entrySet().stream()
                  .map(pin -> "%s  %s%n".formatted(pin.getValue(), pin.getKey()))
                  .collect(Collectors.joining());
      Files.writeString(list, head + lines);
    }
  }

  /**
   * Ends Maven at once. An exception would not do: Maven goes on after an exception of a listener,
   * and a plug-in may catch any.
   */
  private static void stop(String problem) {
    System.err.println("[ERROR] " + problem);
    Runtime.getRuntime().halt(1);
  }

  private static String sha256(Path file) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file));
      return HexFormat.of().formatHex(digest);
    } catch (IOException e) {
      stop("%s cannot be read (%s)".formatted(file, e));
      throw new UncheckedIOException(e);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // every Java platform has it
    }
  }
}
