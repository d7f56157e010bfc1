package org.rackbench.harness.trial;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * The view that a trial's JVM has of its runner. The runner keeps standard input open while it
 * lives, and writes a byte to it when the nodes have been sampled.
 */
public final class RunnerWatch {

  /** A file that exists in the work directory while calls are measured; the runner watches it. */
  public static final String MEASURING = "measuring";

  /** Argument that makes a trial wait for samples before and after its measured phase. */
  public static final String SAMPLED = "sampled";

  /** The runner's byte when the nodes were sampled after the announcement of the phase. */
  public static final int BEGIN = 'b';

  /** The runner's byte when they were sampled after the end of the phase. */
  public static final int END = 'e';

  /** Longest wait for samples, in milliseconds; the client threads go on calling meanwhile. */
  public static final int LONGEST_WAIT_MS = 150;

  private static final int EXIT_RUNNER_GONE = 6;
  private static final int EXIT_CALLED = 8;

  private final Map<Integer, CountDownLatch> samples =
      Map.of(BEGIN, new CountDownLatch(1), END, new CountDownLatch(1));

  private final Runnable last;

  private RunnerWatch(Runnable last) {
    this.last = last;
  }

  /**
   * Ends this JVM when the runner has died, which is when standard input ends.
   *
   * @param last action before the end
   */
  public static RunnerWatch start(Runnable last) {
    RunnerWatch watch = new RunnerWatch(last);
    Thread thread = new Thread(watch::read, "runner-watch");
    thread.setDaemon(true);
    thread.start();
    return watch;
  }

  private void read() {
    try {
      for (int said = System.in.read(); said >= 0; said = System.in.read()) {
        if (samples.containsKey(said)) {
          samples.get(said).countDown();
        }
      }
    } catch (IOException e) {
      // counts as the end of the input
    }
    last.run();
    Runtime.getRuntime().halt(EXIT_RUNNER_GONE);
  }

  /**
   * Ignores SIGTERM. A runner that is asked to stop lets the running trial end, and a signal to the
   * whole process group reaches this JVM too. A client that calls {@code System.exit} ends this JVM
   * at once, else the trial would be a timeout.
   */
  public static void outliveSigterm() {
    CountDownLatch never = new CountDownLatch(1);
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  if (isExitCalled()) {
                    System.err.println("the client called System.exit");
                    ProcessHandle.current().descendants().forEach(ProcessHandle::destroyForcibly);
                    Runtime.getRuntime().halt(EXIT_CALLED);
                  }
                  try {
                    never.await();
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                }));
  }

  /** Returns whether a thread is in {@code Runtime.exit}, which no signal calls. */
  private static boolean isExitCalled() {
    return Thread.getAllStackTraces().values().stream()
        .flatMap(Arrays::stream)
        .anyMatch(
            frame ->
                frame.getClassName().equals(Runtime.class.getName())
                    && frame.getMethodName().equals("exit"));
  }

  /** Returns an observer that announces the measured phase to the runner in the work directory. */
  public Observer teller(Path work) {
    Path file = work.resolve(MEASURING);
    return new Observer() {
      @Override
      public void before() {
        tell(() -> Files.createFile(file), BEGIN);
      }

      @Override
      public void after() {
        tell(() -> Files.delete(file), END);
      }
    };
  }

  /** An action on a file. */
  private interface Deed {
    void run() throws IOException;
  }

  /** Without an answer the trial goes on; the use of its nodes is then less exact. */
  private void tell(Deed deed, int answer) {
    try {
      deed.run();
      samples.get(answer).await(LONGEST_WAIT_MS, TimeUnit.MILLISECONDS);
    } catch (IOException e) {
      System.err.println("no samples of the measured phase: " + ErrorText.of(e));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
