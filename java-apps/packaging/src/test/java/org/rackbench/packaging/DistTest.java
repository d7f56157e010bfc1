package org.rackbench.packaging;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
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
    return new Artefacts(file).problems(List.of(jar));
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
  void refusesABadListByLine() {
    IOException e = assertThrows(IOException.class, () -> problems("# ok\nonly-two words\n"));
    assertTrue(e.getMessage().contains("artefacts.sha256:2: not 'sha256 file coordinates'"));
  }

  @Test
  void anArchiveDependsOnNamesAndBytesAlone() throws Exception {
    byte[] first = archive();
    Files.setLastModifiedTime(jar, FileTime.fromMillis(0));
    assertTrue(jar.toFile().setExecutable(true));
    assertArrayEquals(first, archive());
  }

  @Test
  void aWarDependsOnNamesAndBytesAlone() throws Exception {
    Path war = root.resolve("a.war");
    byte[][] written = new byte[2][];
    for (int i = 0; i < 2; i++) {
      try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(war))) {
        for (String name : i == 0 ? List.of("b", "a") : List.of("a", "b")) {
          ZipEntry entry = new ZipEntry(name);
          entry.setTime(i * 1_000_000_000_000L);
          entry.setComment("made by umask " + i);
          zip.putNextEntry(entry);
          zip.write(name.getBytes());
        }
      }
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      War.write(out, war);
      written[i] = out.toByteArray();
    }
    assertArrayEquals(written[0], written[1]);
  }

  private byte[] archive() throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    TarGz.write(out, Map.of("client/a.jar", jar));
    return out.toByteArray();
  }
}
