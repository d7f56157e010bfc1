package org.rackbench.packaging;

import java.io.IOException;
import java.io.InputStream;
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
import java.util.zip.ZipFile;

/**
 * Last step of the build: checks every third-party file against its pin and, if all are right,
 * writes dist. Each program that a module under {@code clients} or {@code workers} names in its
 * {@code programs.properties} gets a directory with all jars of that module's {@code target/stage},
 * so a new client or worker needs no line here.
 */
public final class Dist {

  private static final String STAGE = "target/stage";

  private final Path root;
  private final Path dist;
  private final List<Path> modules = new ArrayList<>();

  private Dist(Path root, Path dist) throws IOException {
    this.root = root;
    this.dist = dist;
    for (Path pom : files(root, path -> path.endsWith("pom.xml"))) {
      modules.add(pom.getParent());
    }
  }

  /** Arguments: directory of the Maven build, list of artefacts, target, OpenMQ version. */
  public static void main(String[] args) throws IOException {
    Path root = Path.of(args[0]).toRealPath();
    Dist dist = new Dist(root, Path.of(args[2]));
    List<String> problems = new Artefacts(Path.of(args[1]), args[3]).problems(dist.thirdParty());
    if (!problems.isEmpty()) {
      problems.forEach(System.err::println);
      System.err.println("dist is not written");
      System.exit(1);
    }
    dist.write();
  }

  private List<Path> thirdParty() throws IOException {
    List<Path> found = new ArrayList<>();
    for (Path module : modules) {
      Path target = module.resolve("target");
      if (Files.isDirectory(target)) {
        found.addAll(
            files(
                target,
                path ->
                    (path.getParent().endsWith(STAGE) || path.getParent().endsWith("WEB-INF/lib"))
                        && !isOurs(path.toString())));
      }
    }
    return found;
  }

  private boolean isOurs(String path) {
    String name = path.substring(path.lastIndexOf('/') + 1);
    return modules.stream().anyMatch(module -> name.matches(module.getFileName() + "-[0-9.]+jar"));
  }

  private void write() throws IOException {
    Files.createDirectories(dist);
    put("axis.war", out -> out.write(plain(root.resolve("services/target/axis.war"))));
    put("mtom.war", out -> out.write(plain(root.resolve("mtom-service/target/mtom.war"))));
    for (String server : List.of("tomcat.tar.gz", "openmq.zip")) {
      Path staged = root.resolve("packaging/" + STAGE + "/" + server);
      put(server, out -> Files.copy(staged, out));
    }
    Path profiler = root.resolve("packaging/" + STAGE + "/async-profiler.jar");
    putEntry(profiler, "linux-x64/libasyncProfiler.so", "profiler-x86_64.so");
    putEntry(profiler, "linux-arm64/libasyncProfiler.so", "profiler-aarch64.so");
    put("harness.tar.gz", out -> TarGz.write(out, staged("harness", "")));
    for (String kind : List.of("clients", "workers")) {
      Map<String, byte[]> entries = new TreeMap<>();
      for (Path module : modules) {
        if (module.startsWith(root.resolve(kind))) {
          for (String program : new Programs(module).names()) {
            entries.putAll(staged(root.relativize(module).toString(), program + "/"));
          }
        }
      }
      put(kind + ".tar.gz", out -> TarGz.write(out, entries));
    }
  }

  private Map<String, byte[]> staged(String module, String prefix) throws IOException {
    Map<String, byte[]> entries = new TreeMap<>();
    for (Path jar : files(root.resolve(module).resolve(STAGE), path -> true)) {
      String name = jar.getFileName().toString();
      entries.put(prefix + name, isOurs(name) ? plain(jar) : Files.readAllBytes(jar));
    }
    return entries;
  }

  private byte[] plain(Path archive) throws IOException {
    try (InputStream in = Files.newInputStream(archive)) {
      return OwnArchive.plain(in, this::isOurs);
    }
  }

  private static List<Path> files(Path directory, Predicate<Path> wanted) throws IOException {
    try (Stream<Path> paths = Files.walk(directory)) {
      return paths.filter(Files::isRegularFile).filter(wanted).sorted().toList();
    }
  }

  private interface Content {
    void write(OutputStream out) throws IOException;
  }

  /** Puts one file of a jar into dist, under a name with its architecture. */
  private void putEntry(Path jar, String entry, String name) throws IOException {
    try (ZipFile zip = new ZipFile(jar.toFile());
        InputStream in = zip.getInputStream(zip.getEntry(entry))) {
      put(name, in::transferTo);
    }
  }

  private void put(String name, Content content) throws IOException {
    Path beside = dist.resolve(name + ".new");
    try (OutputStream out = Files.newOutputStream(beside)) {
      content.write(out);
    }
    Files.move(beside, dist.resolve(name), StandardCopyOption.ATOMIC_MOVE);
  }
}
