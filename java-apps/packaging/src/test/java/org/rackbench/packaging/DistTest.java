package org.rackbench.packaging;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DistTest {

  private static final String EMPTY =
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

  @TempDir Path root;
  private Path jar;

  @BeforeEach
  void makeJar() throws IOException {
    jar = Files.createFile(root.resolve("a-1.jar"));
  }

  private List<String> problems(String list) throws IOException {
    Path file = Files.writeString(root.resolve("artefacts.sha256"), list);
    return new Artefacts(file, "1").problems(List.of(jar));
  }

  @Test
  void acceptsWhatIsPinned() throws IOException {
    assertEquals(List.of(), problems("# comment\n\n" + EMPTY + "  a-1.jar  g:a:jar:1\n"));
  }

  @Test
  void namesCoordinatesAndBothSumsOfAChangedFile() throws IOException {
    Files.writeString(jar, "x");
    List<String> problems = problems(EMPTY + "  a-1.jar  g:a:jar:1\n");
    assertEquals(1, problems.size());
    String problem = problems.get(0);
    assertTrue(problem.contains("a-1.jar (g:a:jar:1): wanted sha256 " + EMPTY), problem);
    assertTrue(
        problem.contains("found 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"),
        problem);
    assertTrue(problem.contains("remove it from the local Maven repository"), problem);
  }

  @Test
  void refusesWhatIsNotPinnedAndPinsOfNothing() throws IOException {
    List<String> problems = problems(EMPTY + "  b-1.jar  g:b:jar:1\n");
    assertTrue(problems.get(0).contains("a-1.jar is not pinned: found sha256 " + EMPTY));
    assertTrue(problems.get(1).contains("b-1.jar is pinned but not part of dist any more"));
  }

  @Test
  void acceptsOfSeveralPinnedVersionsTheOneThatIsBuilt() throws IOException {
    String zeros = "0".repeat(64);
    String right = EMPTY + "  a-1.jar  g:a:zip:1!/lib/a-1.jar\n";
    assertEquals(List.of(), problems(zeros + "  a-1.jar  g:a:jar:2\n" + right));
    String wrong = zeros + "  a-1.jar  g:a:jar:1\n" + EMPTY + "  a-1.jar  g:a:jar:2\n";
    String problem = problems(wrong).get(0);
    assertTrue(problem.contains("a-1.jar (g:a:jar:1): wanted sha256 " + zeros), problem);
    String others = EMPTY + "  a-1.jar  g:a:jar:2\n" + EMPTY + "  a-1.jar  g:a:jar:3\n";
    assertTrue(problems(others).get(0).contains("a-1.jar is not pinned"));
    assertThrows(IOException.class, () -> problems(right + right));
  }

  @Test
  void refusesABadListByLine() {
    IOException e = assertThrows(IOException.class, () -> problems("# ok\nonly-two words\n"));
    assertTrue(e.getMessage().contains("artefacts.sha256:2: not 'sha256 file coordinates'"));
  }

  @Test
  void aJarOfOursDependsOnNamesAndBytesAlone() throws Exception {
    byte[] inner = zip(0, Map.of("x", "1".getBytes()));
    byte[] other = zip(1, Map.of("x", "1".getBytes()));
    assertFalse(Arrays.equals(inner, other), "not a test if these are equal");
    assertArrayEquals(
        plain(zip(0, Map.of("our.jar", inner))), plain(zip(1, Map.of("our.jar", other))));
    byte[] foreign = plain(zip(0, Map.of("b.jar", inner)));
    assertFalse(Arrays.equals(foreign, plain(zip(0, Map.of("b.jar", other)))));
  }

  @Test
  void aTarDependsOnNamesAndBytesAlone() throws Exception {
    Map<String, byte[]> entries = Map.of("client/a.jar", new byte[] {1, 2});
    ByteArrayOutputStream first = new ByteArrayOutputStream();
    TarGz.write(first, entries);
    Thread.sleep(1100); // tar and gzip headers count seconds
    ByteArrayOutputStream second = new ByteArrayOutputStream();
    TarGz.write(second, entries);
    assertArrayEquals(first.toByteArray(), second.toByteArray());
  }

  @Test
  void theLastFileOfATarSaysThatItWasUnpackedWhole() throws Exception {
    ByteArrayOutputStream archive = new ByteArrayOutputStream();
    TarGz.write(archive, Map.of("worker/z.jar", new byte[] {1}));
    List<String> names = new ArrayList<>();
    InputStream unzipped = new GZIPInputStream(new ByteArrayInputStream(archive.toByteArray()));
    try (TarArchiveInputStream tar = new TarArchiveInputStream(unzipped)) {
      for (TarArchiveEntry entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
        names.add(entry.getName());
      }
    }
    assertEquals(List.of("worker/z.jar", "unpacked"), names);
  }

  @Test
  void namesTheProgramsOfAModule() throws IOException {
    Path classes = Files.createDirectories(root.resolve("src/main/java/a"));
    Files.createFile(classes.resolve("One.java"));
    Path file = root.resolve("src/main/resources/META-INF/rackbench/programs.properties");
    Files.createDirectories(file.getParent());
    Files.writeString(file, "# comment\none = a.One\nfirst = a.One\n");
    assertEquals(Set.of("first", "one"), new Programs(root).names());
    Files.writeString(file, "one = a.One\ntwo = a.Two\n");
    IOException e = assertThrows(IOException.class, () -> new Programs(root).names());
    assertTrue(e.getMessage().contains("two is a.Two, which has no source file"));
  }

  private static byte[] plain(byte[] archive) throws IOException {
    return OwnArchive.plain(new ByteArrayInputStream(archive), "our.jar"::equals);
  }

  private static byte[] zip(int variant, Map<String, byte[]> entries) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (ZipOutputStream zip = new ZipOutputStream(out)) {
      for (Map.Entry<String, byte[]> file : entries.entrySet()) {
        ZipEntry entry = new ZipEntry(file.getKey());
        entry.setTime(1_000_000_000_000L + variant * 1_000_000_000L);
        zip.putNextEntry(entry);
        zip.write(file.getValue());
      }
    }
    return out.toByteArray();
  }
}
