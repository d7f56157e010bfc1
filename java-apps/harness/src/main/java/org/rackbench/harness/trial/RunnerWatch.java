package org.rackbench.harness.trial;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
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
   * Ignores the signals that ask a process to end. A runner that is asked to stop lets the running
   * trial end, and a signal to the whole process group reaches this JVM too. This JVM must not
   * begin to shut down: hooks would disturb the trial, and {@code System.exit} would wait for them.
   */
  public static void outliveSignals() {
    try {
      for (String name : List.of("HUP", "INT", "TERM")) {
        ignore(name);
      }
      Runtime.getRuntime().addShutdownHook(new Thread(RunnerWatch::endOnExit));
    } catch (ReflectiveOperationException e) {
      System.err.println("signals end this JVM: " + ErrorText.of(e)); // with the option -Xrs
    }
  }

  /**
   * Handles a signal by doing nothing, which no child process inherits. It uses reflection, because
   * the compiler warns of {@code sun.misc.Signal}, and Java has no other way.
   */
  private static void ignore(String name) throws ReflectiveOperationException {
    Class<?> signal = Class.forName("sun.misc.Signal");
    Class<?> handler = Class.forName("sun.misc.SignalHandler");
    Object nothing =
        Proxy.newProxyInstance(
            handler.getClassLoader(), new Class<?>[] {handler}, (self, method, given) -> null);
    signal
        .getMethod("handle", signal, handler)
        .invoke(null, signal.getConstructor(String.class).newInstance(name), nothing);
  }

  /** Ends this JVM at once if the client calls {@code System.exit}, whatever its hooks wait for. */
  private static void endOnExit() {
    System.err.println("the client called System.exit");
    end(EXIT_CALLED);
  }

  /** Ends this JVM and its child processes: nothing of a client may outlive its trial. */
  static void end(int status) {
    ProcessHandle.current().descendants().forEach(ProcessHandle::destroyForcibly);
    Runtime.getRuntime().halt(status);
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
