package org.rackbench.harness.runner;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import org.rackbench.harness.trial.BadInput;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.Utc;

/** Allows one runner a node. The kernel releases the lock when the process with it ends. */
final class RunnerLock implements AutoCloseable {

  private final FileChannel channel;

  private RunnerLock(FileChannel channel) {
    this.channel = channel;
  }

  static RunnerLock take(Path file, Path run) throws IOException {
    Path directory = file.toAbsolutePath().getParent();
    if (!Files.isDirectory(directory)) {
      throw new BadInput(directory + ": no such directory for the lock; create it or give --lock");
    }
    FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    FileLock lock = channel.tryLock();
    if (lock == null) {
      channel.close();
      throw new BadInput(refusal(file));
    }
    channel.truncate(0);
    channel.write(
        ByteBuffer.wrap(
            Json.bytes(
                Json.of(
                    "pid", ProcessHandle.current().pid(),
                    "run", run.getFileName().toString(),
                    "since", Utc.now()))));
    return new RunnerLock(channel);
  }

  private static String refusal(Path file) throws IOException {
    String holder = Files.readString(file);
    Map<String, Object> who = holder.isBlank() ? Map.of() : Json.parse(holder, file.toString());
    return "%s is held by the runner with pid %s, of run %s, since %s; wait for it or stop it"
        .formatted(
            file,
            who.getOrDefault("pid", "unknown"),
            who.getOrDefault("run", "unknown"),
            who.getOrDefault("since", "unknown"));
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
