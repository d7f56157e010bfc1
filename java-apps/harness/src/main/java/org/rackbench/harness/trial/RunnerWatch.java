package org.rackbench.harness.trial;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * The runner as the JVM that it started sees it: it holds standard input open while it lives, and
 * writes a byte into it when it has had the nodes sampled.
 */
public final class RunnerWatch {

  /** A file that is in the work directory while calls are measured; the runner waits for it. */
  public static final String MEASURING = "measuring";

  /** Argument that makes a trial wait for samples before and after its measured phase. */
  public static final String SAMPLED = "sampled";

  /** What the runner writes when the nodes were sampled since the measured phase was announced. */
  public static final int BEGIN = 'b';

  /** What it writes when they were since the measured phase had ended. */
  public static final int END = 'e';

  /** Longest wait for samples, in milliseconds; the client threads call on while it lasts. */
  public static final int LONGEST_WAIT_MS = 150;

  private static final int EXIT_RUNNER_GONE = 6;

  private final Map<Integer, CountDownLatch> samples =
      Map.of(BEGIN, new CountDownLatch(1), END, new CountDownLatch(1));

  private final Runnable last;

  private RunnerWatch(Runnable last) {
    this.last = last;
  }

  /**
   * Ends this JVM when the runner has died: only then is the end of standard input reached.
   *
   * @param last what is done before that
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
      // as good as its end
    }
    last.run();
    Runtime.getRuntime().halt(EXIT_RUNNER_GONE);
  }

  /**
   * Ignores SIGTERM. A runner that is asked to stop lets the running trial end, and a signal to the
   * whole process group reaches this JVM too.
   */
  public static void outliveSigterm() {
    CountDownLatch never = new CountDownLatch(1);
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  try {
                    never.await();
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                }));
  }

  /** Who tells the runner of the measured phase, from the trial's work directory. */
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

  /** Something that is done with a file. */
  private interface Deed {
    void run() throws IOException;
  }

  /** Without an answer the trial goes on; what its nodes used is then known less exactly. */
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
