package org.rackbench.harness.runner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rackbench.harness.trial.Durable;
import org.rackbench.harness.trial.Trial;

class WorkAreaTest {

  @TempDir Path run;

  /** Records the steps in order, because a test cannot see their effect on the disk. */
  private static final class Recorder implements Disk {
    final List<String> done = Collections.synchronizedList(new ArrayList<>());

    @Override
    public void sync(Path path) throws IOException {
      assertTrue(Files.exists(path), path + " is flushed under a name that it does not have");
      done.add("sync " + path.getFileName());
    }

    @Override
    public void move(Path from, Path to) throws IOException {
      done.add("move to " + to.getFileName());
      Disk.REAL.move(from, to);
    }
  }

  @Test
  void filesAreOnTheDiskBeforeTheNameAndTheNameBeforeTheTrialCounts() throws Exception {
    Recorder disk = new Recorder();
    WorkArea area = new WorkArea(run, disk);
    Path attempt = area.begin("t1");
    for (String file : List.of("calls.csv", "trial.json", "resources.csv", Trial.PLAN)) {
      Files.writeString(attempt.resolve(file), "text");
    }
    area.seal(attempt, "t1");
    assertEquals(
        Set.of("sync calls.csv", "sync trial.json", "sync resources.csv"),
        Set.copyOf(disk.done.subList(0, 3)));
    assertEquals(
        List.of("sync t1.1", "move to t1", "sync trials"),
        disk.done.subList(3, disk.done.size()),
        "files, their directory, the name, and the entry of the name");
    assertTrue(area.isSealed("t1"));
    assertFalse(Files.exists(run.resolve("trials/t1").resolve(Trial.PLAN)));
  }

  @Test
  void whatAKilledJvmWasWritingIsNotSealed() throws Exception {
    WorkArea area = new WorkArea(run);
    Path attempt = area.begin("t1");
    Files.writeString(attempt.resolve("calls.csv"), "text");
    Files.writeString(Durable.beside(attempt.resolve(Trial.RESULT)), "{\"outco");
    area.seal(attempt, "t1");
    try (var sealed = Files.list(run.resolve("trials/t1"))) {
      assertEquals(List.of(run.resolve("trials/t1/calls.csv")), sealed.toList());
    }
  }

  /** A disk that takes no bytes. */
  private static final class Full implements Disk {
    @Override
    public void sync(Path path) throws IOException {
      throw new IOException("no space");
    }

    @Override
    public void move(Path from, Path to) {
      throw new AssertionError("renamed " + from);
    }
  }

  @Test
  void aFileThatCannotBeFlushedIsNoTrial() throws Exception {
    WorkArea area = new WorkArea(run, new Full());
    Path attempt = area.begin("t1");
    Files.writeString(attempt.resolve("calls.csv"), "text");
    assertThrows(IOException.class, () -> area.seal(attempt, "t1"));
    assertFalse(area.isSealed("t1"));
  }

  private static List<Object> reasons(WorkArea area, Path attempt) throws IOException {
    return area.earlier(attempt).stream().map(note -> note.get("reason")).toList();
  }

  @Test
  void aSealThatFailsKeepsWhyEarlierAttemptsWereThrownAway() throws Exception {
    WorkArea area = new WorkArea(run, new Full());
    area.throwAway(area.begin("t1"), 1, "a cable was out");
    Path attempt = area.begin("t1");
    Files.writeString(attempt.resolve("calls.csv"), "text");
    assertThrows(IOException.class, () -> area.seal(attempt, "t1"));
    WorkArea next = new WorkArea(run);
    Path last = next.begin("t1");
    assertEquals(
        List.of("a cable was out", "the runner ended before the trial was sealed"),
        reasons(next, last));
    assertEquals(3, next.attempt("t1"));
    next.seal(last, "t1");
    try (var left = Files.list(run.resolve("work"))) {
      assertEquals(List.of(), left.toList());
    }
  }

  @Test
  void anAttemptThatWasOnlyBegunKeepsWhyEarlierAttemptsWereThrownAway() throws Exception {
    WorkArea area = new WorkArea(run);
    area.throwAway(area.begin("t1"), 1, "a cable was out");
    Files.createDirectory(run.resolve("work/t1.2"));
    WorkArea next = new WorkArea(run);
    assertEquals(
        List.of("a cable was out", "the runner ended before the trial was sealed"),
        reasons(next, next.begin("t1")));
  }

  @Test
  void theRealDiskMovesInOneStepAndFlushesFilesAndDirectories() throws Exception {
    Path file = Files.writeString(run.resolve("one"), "text");
    Disk.REAL.sync(file);
    Disk.REAL.sync(run);
    Disk.REAL.move(file, run.resolve("two"));
    assertEquals("text", Files.readString(run.resolve("two")));
    assertFalse(Files.exists(file));
  }
}
