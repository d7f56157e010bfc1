package org.rackbench.harness.runner;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.rackbench.harness.program.Leftovers;
import org.rackbench.harness.trial.Durable;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.RunnerWatch;
import org.rackbench.harness.trial.Trial;
import org.rackbench.harness.trial.Utc;

/**
 * A run's {@code work/} and {@code trials/}. An attempt at a trial has the directory {@code
 * work/<id>.<attempt>}; sealing renames it to {@code trials/<id>}. It empties the attempts that an
 * earlier runner left in {@code work/}. The directory of the last one stays at least until the next
 * attempt is sealed or thrown away, so that a kill of the runner loses neither the numbering nor
 * the record of earlier attempts.
 */
final class WorkArea {

  private static final String JVM = "jvm";

  /** A name without a number, so that it is no attempt. */
  private static final String WARMING = "warming";

  /**
   * The file that records why each earlier attempt was thrown away, a JSON object a line; it is
   * copied to the next attempt.
   */
  private static final String EARLIER = "earlier.jsonl";

  private static final List<String> SCRATCH =
      List.of(JVM, EARLIER, Trial.PLAN, Trial.RESULT, RunnerWatch.MEASURING);

  private static final Pattern ATTEMPT = Pattern.compile("(.+)\\.([0-9]+)");

  private final Path work;
  private final Path trials;
  private final Disk disk;
  private final ExecutorService syncing = Daemons.pool("sync");
  private final Set<String> sealed = new HashSet<>();
  private final Map<String, Integer> attempts = new HashMap<>();

  /**
   * Opens the directories of {@code run}, kills the JVMs that an earlier runner left and empties
   * its attempts.
   */
  WorkArea(Path run) throws IOException {
    this(run, Disk.REAL);
  }

  WorkArea(Path run, Disk disk) throws IOException {
    this.disk = disk;
    work = Files.createDirectories(run.resolve("work"));
    trials = Files.createDirectories(run.resolve("trials"));
    Durable.syncUpwards(run);
    try (Stream<Path> entries = Files.list(trials)) {
      entries.forEach(entry -> sealed.add(entry.getFileName().toString()));
    }
    try (Stream<Path> entries = Files.list(work)) {
      for (Path stale : entries.toList()) {
        clear(stale);
      }
    }
  }

  boolean isSealed(String id) {
    return sealed.contains(id);
  }

  /** Makes and returns the directory of the next attempt at {@code id}. */
  Path begin(String id) throws IOException {
    int last = attempts.getOrDefault(id, 0);
    attempts.put(id, last + 1);
    Path directory = Files.createDirectory(directory(id, last + 1));
    Path earlier = directory(id, last).resolve(EARLIER);
    if (Files.exists(earlier)) {
      Durable.replace(directory.resolve(EARLIER), Files.readAllBytes(earlier));
    }
    for (int old = last - 1; old > 0; old--) {
      Durable.remove(directory(id, old));
    }
    return directory;
  }

  private Path directory(String id, int number) {
    return work.resolve(id + "." + number);
  }

  /** Makes and returns the empty directory of a JVM whose calls do not count; it is no attempt. */
  Path beginWarming() throws IOException {
    endWarming();
    return Files.createDirectory(work.resolve(WARMING));
  }

  void endWarming() throws IOException {
    if (Files.exists(work.resolve(WARMING))) {
      Durable.remove(work.resolve(WARMING));
    }
  }

  int attempt(String id) {
    return attempts.get(id);
  }

  /**
   * Empties an attempt that does not count. Its directory stays, with the reason in it, at least
   * until the next attempt is sealed or thrown away. If the runner was killed while it began or
   * sealed the attempt, the notes of the one before are only in the directory of that one.
   */
  void throwAway(Path attempt, int number, String reason) throws IOException {
    Path notes = attempt.resolve(EARLIER);
    String name = attempt.getFileName().toString();
    Path before = directory(name.substring(0, name.lastIndexOf('.')), number - 1).resolve(EARLIER);
    Path known = Files.exists(notes) ? notes : before;
    String earlier = Files.exists(known) ? Files.readString(known) : "";
    try (Stream<Path> entries = Files.list(attempt)) {
      for (Path entry : entries.filter(entry -> !entry.equals(notes)).toList()) {
        Durable.remove(entry);
        Files.deleteIfExists(entry);
      }
    }
    Map<String, Object> note = Json.of("attempt", number, "ended_at", Utc.now(), "reason", reason);
    Durable.replace(notes, (earlier + new String(Json.bytes(note), UTF_8)).getBytes(UTF_8));
    Durable.sync(work);
  }

  /** Returns the attempts before {@code attempt}, as {@link #throwAway} recorded them. */
  List<Map<String, Object>> earlier(Path attempt) throws IOException {
    Path notes = attempt.resolve(EARLIER);
    List<Map<String, Object>> earlier = new ArrayList<>();
    if (Files.exists(notes)) {
      for (String line : Files.readAllLines(notes)) {
        earlier.add(Json.parse(line, notes.toString()));
      }
    }
    return earlier;
  }

  /** Records which JVM works in {@code attempt}, so that a later runner can kill it. */
  void note(Path attempt, ProcessHandle jvm) throws IOException {
    Files.writeString(attempt.resolve(JVM), jvm.pid() + " " + startOf(jvm));
  }

  /** Gives a complete attempt its final name; after that, a power cut cannot undo it. */
  void seal(Path attempt, String id) throws IOException {
    for (String scratch : SCRATCH) {
      Files.deleteIfExists(attempt.resolve(scratch));
      Files.deleteIfExists(Durable.beside(attempt.resolve(scratch))); // of a JVM that was killed
    }
    Durable.remove(attempt.resolve(Fork.TEMPORARY));
    List<Path> written;
    try (Stream<Path> files = Files.list(attempt)) {
      written = files.toList();
    }
    syncTogether(written);
    disk.sync(attempt);
    disk.move(attempt, trials.resolve(id));
    disk.sync(trials);
    sealed.add(id);
    Durable.remove(directory(id, attempt(id) - 1)); // until now, it alone had the notes
  }

  /** Flushes files in parallel, which a file system does by one commit of its journal. */
  private void syncTogether(List<Path> files) throws IOException {
    List<CompletableFuture<Void>> flushed =
        files.stream().map(file -> CompletableFuture.runAsync(() -> sync(file), syncing)).toList();
    try {
      flushed.forEach(CompletableFuture::join);
    } catch (CompletionException e) {
      if (e.getCause() instanceof UncheckedIOException onDisk) {
        throw onDisk.getCause();
      }
      throw e;
    }
  }

  private void sync(Path file) {
    try {
      disk.sync(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void clear(Path stale) throws IOException {
    Matcher name = ATTEMPT.matcher(stale.getFileName().toString());
    endJvm(stale);
    Leftovers.kill(stale);
    if (!name.matches() || isSealed(name.group(1))) {
      Durable.remove(stale);
      return;
    }
    int number = Integer.parseInt(name.group(2));
    attempts.merge(name.group(1), number, Math::max);
    if (earlier(stale).stream().noneMatch(note -> note.get("attempt").equals(number))) {
      throwAway(stale, number, "the runner ended before the trial was sealed");
    }
  }

  private static void endJvm(Path attempt) throws IOException {
    String note;
    try {
      note = Files.readString(attempt.resolve(JVM));
    } catch (NoSuchFileException e) {
      return; // killed before the note: the JVM ends by itself when the runner's pipe closes
    }
    String[] pidAndStart = note.split(" ");
    if (pidAndStart.length != 2) {
      return;
    }
    ProcessHandle jvm = ProcessHandle.of(Long.parseLong(pidAndStart[0])).orElse(null);
    if (jvm != null && startOf(jvm).equals(pidAndStart[1])) {
      endTree(jvm);
    }
  }

  /** Kills a process and its descendants and waits for their end. */
  static void endTree(ProcessHandle root) {
    Stream.concat(root.descendants().toList().stream(), Stream.of(root))
        .map(
            process -> {
              process.destroyForcibly();
              return process.onExit();
            })
        .forEach(CompletableFuture::join);
  }

  private static String startOf(ProcessHandle process) {
    return process.info().startInstant().map(i -> Long.toString(i.toEpochMilli())).orElse("gone");
  }
}
