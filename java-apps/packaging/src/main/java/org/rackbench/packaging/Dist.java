package org.rackbench.packaging;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Last step of the build: checks every third-party file against its pin and, when all are right,
 * writes dist. What a module has staged in {@code target/stage} goes into its archive, so a new
 * client or worker needs no line here.
 */
public final class Dist {

  private static final String STAGE = "target/stage";

  private final Path root;
  private final Path dist;

  private Dist(Path root, Path dist) {
    this.root = root;
    this.dist = dist;
  }

  /** Arguments: directory of the Maven build, list of artefacts, directory to write. */
  public static void main(String[] args) throws IOException {
    Path root = Path.of(args[0]).toRealPath();
    Dist dist = new Dist(root, Path.of(args[2]));
    List<String> problems = new Artefacts(Path.of(args[1])).problems(dist.thirdParty());
    if (!problems.isEmpty()) {
      problems.forEach(System.err::println);
      System.err.println("dist is not written");
      System.exit(1);
    }
    dist.write();
  }

  private List<Path> thirdParty() throws IOException {
    List<String> modules = new ArrayList<>();
    for (Path pom : files(root, path -> path.endsWith("pom.xml"))) {
      modules.add(pom.getParent().getFileName().toString());
    }
    Predicate<Path> ours =
        path ->
            modules.stream()
                .anyMatch(module -> path.getFileName().toString().matches(module + "-[0-9.]+jar"));
    return files(
        root,
        path ->
            (path.getParent().endsWith(STAGE) || path.getParent().endsWith("axis/WEB-INF/lib"))
                && !ours.test(path));
  }

  private void write() throws IOException {
    Files.createDirectories(dist);
    put("axis.war", out -> War.write(out, root.resolve("services/target/axis.war")));
    for (String server : List.of("tomcat.tar.gz", "openmq.zip")) {
      put(
          server,
          Files.newInputStream(root.resolve("packaging/" + STAGE + "/" + server))::transferTo);
    }
    put("harness.tar.gz", out -> TarGz.write(out, staged("harness", "")));
    for (String kind : List.of("clients", "workers")) {
      Map<String, Path> entries = new TreeMap<>();
      for (Path pom : files(root.resolve(kind), path -> path.endsWith("pom.xml"))) {
        String name = pom.getParent().getFileName().toString();
        if (!name.equals(kind)) {
          entries.putAll(staged(kind + "/" + name, name + "/"));
        }
      }
      put(kind + ".tar.gz", out -> TarGz.write(out, entries));
    }
  }

  private Map<String, Path> staged(String module, String prefix) throws IOException {
    Map<String, Path> entries = new TreeMap<>();
    for (Path jar : files(root.resolve(module).resolve(STAGE), path -> true)) {
      entries.put(prefix + jar.getFileName(), jar);
    }
    return entries;
  }

  private static List<Path> files(Path directory, Predicate<Path> wanted) throws IOException {
    try (Stream<Path> paths = Files.walk(directory)) {
      return paths.filter(Files::isRegularFile).filter(wanted).sorted().toList();
    }
  }

  private interface Content {
    void write(OutputStream out) throws IOException;
  }

  private void put(String name, Content content) throws IOException {
    Path beside = dist.resolve(name + ".new");
    try (OutputStream out = Files.newOutputStream(beside)) {
      content.write(out);
    }
    Files.move(beside, dist.resolve(name), StandardCopyOption.ATOMIC_MOVE);
  }
}
