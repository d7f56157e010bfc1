package org.rackbench.axisserver;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.axis.AxisEngine;
import org.apache.axis.AxisFault;
import org.apache.axis.session.Session;

/**
 * The directories for attachments of one engine, which requests reuse. Creating one takes as long
 * as some small requests take, and only requests with attachments would bear that cost.
 */
final class AttachmentDirectories {

  static final int MAXIMUM = 32;

  private final Deque<Path> free = new ArrayDeque<>();
  private int taken;

  /** Returns the directories of an engine, which all its services share. */
  static AttachmentDirectories of(AxisEngine engine) {
    String name = AttachmentDirectories.class.getName();
    Session session = engine.getApplicationSession();
    synchronized (session) {
      if (!(session.get(name) instanceof AttachmentDirectories)) {
        session.set(name, new AttachmentDirectories());
      }
      return (AttachmentDirectories) session.get(name);
    }
  }

  /**
   * Reserves a directory until it is closed.
   *
   * @param base directory in which it is created
   * @throws AxisFault when {@link #MAXIMUM} are taken
   */
  synchronized AttachmentDirectory take(Path base) throws IOException {
    if (taken >= MAXIMUM) {
      throw new AxisFault(
          "%d requests with attachments are served already; try again later".formatted(taken));
    }
    Path path = free.poll();
    if (path == null || !Files.isDirectory(path)) {
      path = Files.createTempDirectory(base, "axis-request-");
      path.toFile().deleteOnExit();
    }
    taken++;
    return new AttachmentDirectory(path, this);
  }

  synchronized void giveBack(Path path) {
    taken--;
    free.push(path);
  }
}
