package org.rackbench.harness.trial;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;

/**
 * The main class of the JVM that warms services after a restart. It makes the calls of some trials,
 * one trial after the other, and keeps no results. It reads {@link #PLAN} from its work directory
 * and adds a line to {@link #DONE} for each trial that it has finished.
 */
public final class Warming {

  /** Trials of the same client program and JVM options, one a line, as in plan.jsonl. */
  public static final String PLAN = "plan.jsonl";

  /** One line a trial, in the order of {@link #PLAN}: the number of calls made for it. */
  public static final String DONE = "warmed";

  private static final int EXIT_COLD = 7;

  private Warming() {}

  /**
   * Takes the work directory, the lab file and the milliseconds for which the threads of each trial
   * call as arguments. It waits for a longer call, because a server that is abandoned during a call
   * stays busy. It ends with a status other than 0 at the first call that fails or has a wrong
   * answer.
   */
  public static void main(String[] args) {
    RunnerWatch.start(() -> {});
    Path work = Path.of(args[0]);
    long nanos = TimeUnit.MILLISECONDS.toNanos(Long.parseLong(args[2]));
    int status = 0;
    try {
      List<String> lines = Files.readAllLines(work.resolve(PLAN));
      for (int i = 0; i < lines.size(); i++) {
        String where = work.resolve(PLAN) + ":" + (i + 1);
        PlannedTrial trial = PlannedTrial.of(Json.parse(lines.get(i), where), where);
        String line = warm(trial, Path.of(args[1]), nanos) + "\n";
        Files.writeString(
            work.resolve(DONE), line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
      }
    } catch (Throwable e) {
      MeasuringLoop.exitOnMemory(e);
      e.printStackTrace();
      status = EXIT_COLD;
    }
    RunnerWatch.end(status);
  }

  /** Returns the number of calls made. */
  private static int warm(PlannedTrial trial, Path lab, long nanos) throws Exception {
    AtomicInteger calls = new AtomicInteger();
    AtomicReference<Throwable> failure = new AtomicReference<>();
    Client client = ClientPrograms.named(trial.client());
    try {
      client.open(Trial.setting(trial, lab));
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < trial.threads(); i++) {
        int number = i;
        threads.add(new Thread(() -> call(client, number, trial.threads(), nanos, calls, failure)));
      }
      threads.forEach(Thread::start);
      for (Thread thread : threads) {
        thread.join();
      }
    } finally {
      MeasuringLoop.close(client);
    }
    if (failure.get() != null) {
      throw new IOException(trial.id() + ": " + ErrorText.of(failure.get()), failure.get());
    }
    return calls.get();
  }

  private static void call(
      Client client,
      int thread,
      int threads,
      long nanos,
      AtomicInteger calls,
      AtomicReference<Throwable> failure) {
    Caller caller = null;
    try {
      caller = client.caller(thread);
      long end = System.nanoTime() + nanos;
      for (int i = 0; failure.get() == null && (i == 0 || System.nanoTime() < end); i++) {
        caller.prepare((long) i * threads + thread);
        caller.call();
        String problem = caller.verify().problem();
        if (problem != null) {
          throw new IOException("wrong answer: " + problem);
        }
        calls.incrementAndGet();
      }
    } catch (Throwable e) {
      MeasuringLoop.exitOnMemory(e);
      failure.compareAndSet(null, e);
    } finally {
      MeasuringLoop.close(caller);
    }
  }
}
