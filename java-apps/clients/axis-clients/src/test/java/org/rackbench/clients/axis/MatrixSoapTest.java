package org.rackbench.clients.axis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.FileVisitResult;
import java.nio.file.FileVisitor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Part;
import org.rackbench.harness.api.Setting;
import org.rackbench.harness.trial.LabFile;
import org.rackbench.tomcattesting.WarServer;

/** The client against the WAR that the module services has built, in a real Tomcat. */
@Timeout(300)
class MatrixSoapTest {

  private static final int REQUEST_AT_LEAST = 4000;

  @TempDir static Path base;
  @TempDir Path directory;
  @AutoClose private static WarServer tomcat;

  @BeforeAll
  static void startTomcat() throws Exception {
    tomcat = new WarServer(base, "/axis", Path.of("../../services/target/axis.war"));
  }

  private Setting setting(String encoding, int n) throws IOException {
    return setting(encoding, n, Map.of());
  }

  private Setting setting(String encoding, int n, Map<String, Object> constants)
      throws IOException {
    Path lab =
        Files.writeString(
            directory.resolve("lab.json"),
            "{\"schema\":1,\"workers\":[{\"axis_url\":\"%s\"}]}".formatted(tomcat.url()));
    Map<String, Object> factors = Map.of("encoding", encoding, "matrix", n);
    return new Setting(
        "t1", factors, constants, 42, 2, 1, Duration.ofSeconds(120), LabFile.read(lab));
  }

  private Answer call(String encoding, int n) throws Exception {
    MatrixSoap client = new MatrixSoap();
    client.open(setting(encoding, n));
    try (Caller caller = client.caller(0)) {
      Answer answer = null;
      for (int seq = 0; seq < 2; seq++) {
        caller.prepare(seq);
        caller.call();
        answer = caller.verify();
        assertNull(answer.problem());
      }
      return answer;
    } finally {
      client.close();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"xml", "mime", "dime"})
  void thePartsOfACallAreNoLongerThanTheCall(String encoding) throws Exception {
    MatrixSoap client = new MatrixSoap();
    client.open(setting(encoding, 100, Map.of("parts", true)));
    try (Caller caller = client.caller(0)) {
      for (int seq = 0; seq < 5; seq++) {
        caller.prepare(seq);
        final long begin = System.nanoTime();
        caller.call();
        final long elapsed = System.nanoTime() - begin;
        long sum = 0;
        for (Part part : EnumSet.complementOf(EnumSet.of(Part.REST))) {
          long nanos = caller.parts().nanos(part);
          assertTrue(nanos > 0, part + " took " + nanos);
          sum += nanos;
        }
        assertTrue(sum <= elapsed, sum + " of " + elapsed);
      }
    } finally {
      client.close();
    }
  }

  private static void assertWithin(double low, double high, double found) {
    assertTrue(low <= found && found <= high, found + " is not within " + low + " to " + high);
  }

  private static long message(Answer answer) {
    return answer.requestHeaderBytes() + answer.requestBytes();
  }

  /** Table 2 of 004, headers and body: DIME is 4n² + 10n + 997 to 1000 bytes, MIME 312 more. */
  @ParameterizedTest
  @ValueSource(ints = {1, 10, 50, 100, 500, 1000})
  void attachmentsAreAboutAsLongAsThePapers(int n) throws Exception {
    Answer dime = call("dime", n);
    Answer mime = call("mime", n);
    long matrix = 4L * n * n + 10L * n;
    assertWithin(650, 850, dime.requestBytes() - matrix);
    assertWithin(650, 850, dime.responseBytes() - matrix);
    assertWithin(150, 250, mime.requestBytes() - dime.requestBytes());
    if (n <= 50) { // frames of chunks, which count with the header, are few
      assertWithin(950, 1150, message(dime) - matrix);
      assertWithin(300, 350, message(mime) - message(dime));
    }
  }

  @ParameterizedTest
  @CsvSource({"10, 4250", "50, 75212", "100, 292867"})
  void standardSoapIsAboutAsLongAsThePapers(int n, int paper) throws Exception {
    Answer xml = call("xml", n);
    assertEquals(1, (double) xml.responseBytes() / xml.requestBytes(), 0.05);
    assertWithin(0.85, 1.15, (double) xml.requestBytes() / paper);
    if (n >= 50) {
      assertWithin(6, 8, (double) xml.requestBytes() / call("dime", n).requestBytes());
    }
  }

  @Test
  void multiReferencesAreSeveralTimesLonger() throws Exception {
    Answer multi = call("xml-multiref", 30);
    Answer xml = call("xml", 30);
    assertTrue(multi.requestBytes() > 5 * xml.requestBytes(), multi + " " + xml);
    assertTrue(multi.responseBytes() > 5 * xml.responseBytes(), multi + " " + xml);
  }

  private static Set<Path> attachmentFiles() throws IOException {
    Set<Path> files = new HashSet<>();
    FileVisitor<Path> attachments =
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            if (file.toString().endsWith(".att")) {
              files.add(file);
            }
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFileFailed(Path file, IOException missing) {
            return FileVisitResult.CONTINUE; // another program deleted its own
          }

          @Override
          public FileVisitResult postVisitDirectory(Path directory, IOException missing) {
            return FileVisitResult.CONTINUE;
          }
        };
    for (Path directory : List.of(base, Path.of(System.getProperty("java.io.tmpdir")))) {
      Files.walkFileTree(directory, Set.of(), 9, attachments);
    }
    return files;
  }

  @ParameterizedTest
  @ValueSource(strings = {"dime", "mime"})
  void leavesNoFilesOfAttachmentsBehind(String encoding) throws Exception {
    Set<Path> before = attachmentFiles();
    call(encoding, 100);
    assertFalse(Files.exists(base.resolve("webapps/axis/WEB-INF/attachments")));
    Set<Path> left = attachmentFiles();
    left.removeAll(before);
    assertEquals(Set.of(), left);
  }

  /** The runner gives each trial's JVM a directory of its own for them. */
  @Test
  void anAttachmentLiesInTheTemporaryDirectoryOfTheJvm() throws Exception {
    Set<Path> before = attachmentFiles();
    MatrixSoap client = new MatrixSoap();
    client.open(setting("dime", 100));
    try (Caller caller = client.caller(0)) {
      caller.prepare(0);
      caller.call();
      Set<Path> received = attachmentFiles();
      received.removeAll(before);
      received.removeIf(file -> file.startsWith(base)); // of the server
      Path temporary = Path.of(System.getProperty("java.io.tmpdir"));
      assertFalse(received.isEmpty());
      received.forEach(file -> assertEquals(temporary, file.getParent()));
    } finally {
      client.close();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aServerThatBreaksOffIsAnErrorThatSaysWhatToThink(boolean reset) throws Exception {
    Setting setting = setting("xml", 10);
    try (ServerSocket breaking = new ServerSocket(0)) {
      RestartingService server =
          new RestartingService("http://localhost:" + breaking.getLocalPort() + "/axis");
      Thread thread =
          new Thread(
              () -> {
                try (Socket client = breaking.accept()) {
                  client.setSoLinger(reset, 0);
                  client.setSoTimeout(1000);
                  client.getInputStream().readNBytes(REQUEST_AT_LEAST);
                  client.getInputStream().read(new byte[100_000]);
                } catch (IOException e) {
                  throw new AssertionError(e);
                }
              });
      thread.start();
      try (Caller caller = new MatrixSoapCaller(setting, MatrixEncoding.XML, server)) {
        caller.prepare(0);
        IOException e = assertThrows(IOException.class, caller::call);
        assertTrue(e.getMessage().contains("out of memory"), e.getMessage());
        assertTrue(server.wasLost());
      }
    }
  }

  @Test
  void aMatrixOfNoSizeIsSaidBeforeAnyCall() throws Exception {
    MatrixSoap client = new MatrixSoap();
    client.open(setting("dime", 0));
    RuntimeException e = assertThrows(RuntimeException.class, () -> client.caller(0));
    assertTrue(e.getMessage().contains("correct the level 'matrix'"), e.getMessage());
  }
}
