package org.rackbench.clients.plain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import javax.servlet.ServletException;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ValveBase;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rackbench.harness.trial.Trial;
import org.rackbench.tomcattesting.WarServer;

/**
 * Coordinated omission, in whole trials of the client {@code http}: a real Tomcat answers 100 calls
 * a second for 20 s and stalls for 2 s of them. The closed loop waits with one open call; the open
 * loop counts the wait of the 200 calls that were due.
 */
@Timeout(120)
class StallTest {

  private static final int CALLS = 2000;
  private static final long CALL_MS = 10; // so that a closed loop makes 100 calls a second
  private static final long STALL_AT_MS = 10_000;
  private static final long STALL_MS = 2000;
  private static final String OPEN =
      ",\"threads\":8,\"calls\":%d,\"arrival\":{\"rate\":100,\"spacing\":\"even\",\"lead_s\":1}"
          .formatted(CALLS / 8);
  private static final String CLOSED = ",\"threads\":1,\"calls\":%d".formatted(CALLS);

  @TempDir Path directory;

  /** Each request takes {@link #CALL_MS}, or lasts until the end of a stall. */
  private static final class Stall extends ValveBase {

    private final AtomicLong firstNanos = new AtomicLong();

    private Stall() {
      super(true);
    }

    @Override
    public void invoke(Request request, Response response) throws IOException, ServletException {
      long now = System.nanoTime();
      firstNanos.compareAndSet(0, now);
      long since = TimeUnit.NANOSECONDS.toMillis(now - firstNanos.get()) - STALL_AT_MS;
      try {
        Thread.sleep(since >= 0 && since < STALL_MS ? STALL_MS - since : CALL_MS);
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
      getNext().invoke(request, response);
    }
  }

  /** A trial in a JVM of its own, with a Tomcat of its own, so that both stall alike. */
  private final class Running implements AutoCloseable {

    private final Path work;
    private final WarServer tomcat;
    private final Process jvm;

    private Running(String name, String loop) throws Exception {
      work = Files.createDirectory(directory.resolve(name));
      Path base = Files.createDirectory(work.resolve("tomcat"));
      tomcat = new WarServer(base, "/axis", Path.of("../../services/target/axis.war"));
      tomcat.add(new Stall());
      Path lab = work.resolve("lab.json");
      Files.writeString(
          lab, "{\"schema\":1,\"workers\":[{\"axis_url\":\"%s\"}]}".formatted(tomcat.url()));
      Files.writeString(
          work.resolve(Trial.PLAN),
          ("{\"schema\":1,\"id\":\"%s\",\"client\":\"http\",\"factors\":{},\"constants\":{},"
                  + "\"seed\":1,\"warmup\":0,\"timeout_s\":90%s}")
              .formatted(name, loop));
      jvm =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-Xmx128m",
                  "-cp",
                  System.getProperty("java.class.path"),
                  Trial.class.getName(),
                  work.toString(),
                  lab.toString())
              .redirectErrorStream(true)
              .redirectOutput(work.resolve("log").toFile())
              .start();
    }

    /** Waits for its end and returns the times of its calls in seconds, sorted. */
    private double[] seconds() throws Exception {
      String log = work.resolve("log").toString();
      assertTrue(jvm.waitFor(100, TimeUnit.SECONDS), log);
      assertEquals(0, jvm.exitValue(), () -> log + ": " + read(Path.of(log)));
      double[] seconds =
          Files.readAllLines(work.resolve(Trial.CALLS)).stream()
              .map(row -> row.split(","))
              .filter(row -> row[2].equals("measure") && row[8].equals("ok"))
              .mapToDouble(StallTest::responseSeconds)
              .sorted()
              .toArray();
      assertEquals(CALLS, seconds.length, () -> read(Path.of(log)));
      return seconds;
    }

    @Override
    public void close() throws Exception {
      jvm.destroyForcibly();
      tomcat.close();
    }
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }

  /** Returns seconds from the due time to the answer; a closed loop sends a call when it is due. */
  private static double responseSeconds(String[] row) {
    long start = Long.parseLong(row[4]);
    long due = row[3].isEmpty() ? start : Long.parseLong(row[3]);
    return (start - due + Long.parseLong(row[5])) / 1e9;
  }

  private static double quantile(double[] sorted, double share) {
    return sorted[(int) Math.ceil(share * sorted.length) - 1];
  }

  @Test
  void aStallIsTheTailOfAnOpenLoopAndOneCallOfAClosedOne() throws Exception {
    try (Running opened = new Running("open", OPEN);
        Running closed = new Running("closed", CLOSED)) {
      double[] open = opened.seconds();
      double[] other = closed.seconds();
      double stall = STALL_MS / 1e3;
      double seen = quantile(open, 0.99) / stall;
      assertTrue(seen > 0.5 && seen < 1.1, "p99 of the open loop, in stalls: " + seen);
      double longest = other[CALLS - 1] / stall;
      assertTrue(longest > 0.9, "the closed loop met the stall: " + longest);
      double hidden = quantile(other, 0.99) / quantile(open, 0.99);
      assertTrue(hidden < 0.1, "p99 of the closed loop by that of the open one: " + hidden);
      double medians = quantile(open, 0.5) / quantile(other, 0.5);
      assertTrue(medians < 5, "most calls of both met no stall: " + medians);
    }
  }
}
