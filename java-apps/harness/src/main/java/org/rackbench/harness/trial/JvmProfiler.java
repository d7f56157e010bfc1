package org.rackbench.harness.trial;

import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * The profiler in this JVM while calls are measured, for a trial that never counts. Loaded by the
 * JVM's own diagnostic command, so that neither options nor class path differ from those of a trial
 * that counts.
 */
public final class JvmProfiler implements Observer {

  /** The name, without its suffix, of each file that it leaves in the directory of the attempt. */
  public static final String NAME = "profile";

  /** In a directory from which every unit of the kit may execute. */
  private static final String LIBRARY = "/usr/lib/rackbench/libasyncProfiler.so";

  private static final int INTERVAL_NS = 2_000_000;

  /** Timers, as the units' sandboxes forbid perf events. The first that works is taken. */
  private static final List<String> EVENTS = List.of("ctimer", "itimer");

  private static final String LOADED = "return code: 0";

  private final Path directory;
  private String event = "";
  private String missing = "its measured phase did not end";

  /**
   * @param directory where it leaves its files
   */
  JvmProfiler(Path directory) {
    this.directory = directory;
  }

  @Override
  public void before() {
    if (!Files.exists(Path.of(LIBRARY))) {
      missing = LIBRARY + ": no such file; run site.yml again";
      return;
    }
    for (String one : EVENTS) {
      missing =
          command(
              "start,jfr,event=%s,interval=%d,file=%s"
                  .formatted(one, INTERVAL_NS, file(ProfileFile.RECORDING)));
      if (missing.isEmpty()) {
        event = one;
        return;
      }
    }
  }

  /** Leaves three files; stacks count nanoseconds. */
  @Override
  public void after() {
    if (missing.isEmpty()) {
      missing = command("stop,collapsed,total,file=" + file(ProfileFile.STACKS));
    }
    if (missing.isEmpty()) {
      missing = command("dump,flamegraph,total,file=" + file(ProfileFile.PAGE));
    }
  }

  /** Returns what the result says of it; {@code missing} is why there is no profile, or "". */
  Map<String, Object> record() {
    return Json.of("event", event, "interval_ns", INTERVAL_NS, "missing", missing);
  }

  private Path file(ProfileFile kind) {
    return directory.resolve(NAME + kind.suffix());
  }

  /** Returns why the command failed, or "". */
  private static String command(String options) {
    try {
      Object said =
          ManagementFactory.getPlatformMBeanServer()
              .invoke(
                  new ObjectName("com.sun.management:type=DiagnosticCommand"),
                  "jvmtiAgentLoad",
                  new Object[] {new String[] {LIBRARY, "\"" + options + "\""}},
                  new String[] {String[].class.getName()});
      String text = said.toString().strip();
      return text.endsWith(LOADED) ? "" : "the profiler says: " + text;
    } catch (JMException | RuntimeException e) {
      return "the JVM loads no profiler: " + ErrorText.of(e);
    }
  }
}
