package org.rackbench.harness.trial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class RunnerWatchTest {

  /** A JVM whose client calls System.exit only after SIGTERM was outlived. */
  static final class Exiting {

    public static void main(String[] args) throws InterruptedException {
      RunnerWatch.outliveSigterm();
      System.out.println("ready");
      while (Thread.getAllStackTraces().entrySet().stream().noneMatch(Exiting::isOutliving)) {
        Thread.sleep(10);
      }
      System.exit(1);
    }

    private static boolean isOutliving(Map.Entry<Thread, StackTraceElement[]> stack) {
      Thread.State state = stack.getKey().getState();
      boolean waits = state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING;
      return waits
          && Arrays.stream(stack.getValue())
              .anyMatch(frame -> frame.getClassName().startsWith(RunnerWatch.class.getName()));
    }
  }

  @Test
  void aClientThatCallsExitAfterSigtermEndsItsJvm() throws Exception {
    Process jvm =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                Exiting.class.getName())
            .redirectErrorStream(true)
            .start();
    try (BufferedReader said = jvm.inputReader()) {
      assertEquals("ready", said.readLine());
      jvm.toHandle().destroy(); // SIGTERM; Process.destroy would close the output as well
      assertTrue(jvm.waitFor(60, TimeUnit.SECONDS), "it waits for a signal that ends it");
      assertEquals("the client called System.exit", said.readLine());
      assertEquals(8, jvm.exitValue());
    } finally {
      jvm.destroyForcibly();
    }
  }
}
