package org.rackbench.harness.trial;

import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * The profiler in this JVM while calls are measured, for a trial that never counts. The JVM's own
 * diagnostic command loads it, so options and class path are those of a trial that counts.
 */
public final class JvmProfiler implements Observer {

  /** The name, without suffix, of each file that it writes to the directory of the attempt. */
  public static final String NAME = "profile";

  /** A library in a directory from which every unit of rackbench may execute. */
  private static final String LIBRARY = "/usr/lib/rackbench/libasyncProfiler.so";

  private static final int INTERVAL_NS = 2_000_000;

  /** Timers, because the units' sandboxes forbid perf events. The first that works is used. */
  private static final List<String> EVENTS = List.of("ctimer", "itimer");

  private static final String LOADED = "return code: 0";

  private final Path directory;
  private String event = "";
  private String missing = "its measured phase did not end";

  /**
   * @param directory the directory of its files
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
              "start,jfr,event=%s,interval=%s,file=%s" // not %d, whose digits are the locale's
                  .formatted(one, INTERVAL_NS, file(ProfileFile.RECORDING)));
      if (missing.isEmpty()) {
        event = one;
        return;
      }
    }
  }

  /** Writes three files; stacks count nanoseconds. */
  @Override
  public void after() {
    if (missing.isEmpty()) {
      missing = command("stop,collapsed,total,file=" + file(ProfileFile.STACKS));
    }
    if (missing.isEmpty()) {
      missing = command("dump,flamegraph,total,file=" + file(ProfileFile.PAGE));
    }
  }

  /** Returns its entry of the result; {@code missing} is why there is no profile, or "". */
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
