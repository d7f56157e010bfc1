package org.rackbench.harness.runner;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Part;
import org.rackbench.harness.api.Parts;
import org.rackbench.harness.api.ServerOutOfMemory;
import org.rackbench.harness.api.Setting;
import org.rackbench.harness.trial.Trial;

/** A client whose behaviour the factor {@code part} sets. */
public final class Puppet implements Client, Caller {

  static final int FLOOD_BYTES = 80 << 20;

  private String part;
  private long seq;
  private long limitMillis;
  private Parts parts;

  @Override
  public void open(Setting setting) throws IOException {
    part =
        setting.word(
            "part",
            "ok",
            "mixed",
            "all-wrong",
            "set-up",
            "memory",
            "server-memory",
            "hang",
            "hang-once",
            "chatty",
            "temporary",
            "tell-timeout",
            "collect-first",
            "hang-at-close",
            "killed",
            "crash",
            "end",
            "end-full",
            "exit",
            "exit-later",
            "helper",
            "late",
            "flood",
            "one-late",
            "garbled",
            "error");
    parts = Parts.of(setting);
    limitMillis = setting.callTimeout().toMillis();
    if (part.equals("set-up")) {
      throw new IOException("no server there");
    } else if (part.equals("tell-timeout")) {
      System.out.println(setting.callTimeout());
    } else if (part.equals("collect-first")) {
      System.gc();
    } else if (part.equals("helper")) {
      startHelper();
    } else if (part.equals("error")) {
      throw new NoClassDefFoundError("a.missing.Jar");
    }
  }

  @Override
  public Caller caller(int thread) {
    return this;
  }

  @Override
  public void prepare(long call) {
    seq = call;
    parts.reset();
  }

  @Override
  public void call() throws Exception {
    parts.begin(Part.WAIT);
    switch (part) {
      case "memory" -> eatMemory();
      case "server-memory" ->
          throw ServerOutOfMemory.printed("http://worker1/axis", "Java heap space\nat line 1");
      case "hang" -> hang();
      case "hang-once" -> hangOnce();
      case "chatty" -> System.out.println("said by the client");
      case "temporary" -> System.out.println(Files.createTempFile("Axis", ".att"));
      case "mixed" -> failAt3And4();
      case "killed" -> signalSelf("KILL");
      case "crash" -> signalSelf("ABRT");
      case "end" -> Runtime.getRuntime().halt(0);
      case "end-full" -> Runtime.getRuntime().halt(Trial.EXIT_IO);
      case "exit" -> System.exit(1);
      case "exit-later" -> {
        hangOnce();
        System.exit(1);
      }
      case "late" -> beLate();
      case "garbled" -> {
        System.out.write(0xff); // in no text of UTF-8
        System.out.flush();
        throw new IOException("refused");
      }
      case "flood" -> flood();
      case "one-late" -> {
        if (seq == 4) {
          beLate();
        }
      }
      default -> {}
    }
    parts.begin(Part.REST);
  }

  private void failAt3And4() throws Exception {
    if (seq == 3) {
      throw new IOException("refused", new TimeoutException("late"));
    } else if (seq == 4) {
      throw new IllegalStateException("a fault");
    }
  }

  /** Behaves like a client whose server hangs. */
  private void beLate() throws Exception {
    Thread.sleep(limitMillis);
    throw new TimeoutException("no answer within %d ms".formatted(limitMillis));
  }

  /** Prints more than fits into the runner's heap, and ends without a result. */
  private static void flood() {
    System.out.println("first words");
    String line = "x".repeat(1023);
    for (int i = 0; i < FLOOD_BYTES / 1024; i++) {
      System.out.println(line);
    }
    System.out.println("last words");
    Runtime.getRuntime().halt(9);
  }

  private static void signalSelf(String signal) throws Exception {
    Bench.signal(signal, ProcessHandle.current().pid());
    Thread.sleep(1_000_000);
  }

  private static void eatMemory() {
    List<byte[]> eaten = new ArrayList<>();
    while (true) {
      eaten.add(new byte[1 << 20]);
    }
  }

  /** Starts a process that nobody ends, and notes its id. */
  private static void startHelper() throws IOException {
    long helper = new ProcessBuilder("sleep", "1000").start().pid();
    Path helpers = runnersDirectory().resolve("helpers");
    Files.writeString(helpers, helper + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
  }

  /** Hangs for ever, with a child process of its own. */
  private static void hang() throws Exception {
    long child = new ProcessBuilder("sleep", "1000").start().pid();
    Files.writeString(runnersDirectory().resolve("child.pid"), Long.toString(child));
    say();
    Thread.sleep(1_000_000);
  }

  /** Hangs until the test has made the file {@code go}. */
  private static void hangOnce() throws Exception {
    Path go = runnersDirectory().resolve("go");
    if (!Files.exists(go)) {
      say();
    }
    while (!Files.exists(go)) {
      Thread.sleep(10);
    }
  }

  private static void say() throws IOException {
    Path said = runnersDirectory().resolve("puppet.pid");
    Path beside = said.resolveSibling("puppet.new");
    Files.writeString(beside, Long.toString(ProcessHandle.current().pid()));
    Files.move(beside, said);
  }

  /** The class path's entries are ROOT/clients/puppet/JAR. */
  private static Path runnersDirectory() {
    Path jar = Path.of(System.getProperty("java.class.path").split(":")[0]);
    return jar.getParent().getParent().getParent();
  }

  @Override
  public Answer verify() {
    boolean wrong = part.equals("all-wrong") || part.equals("mixed") && seq == 5;
    return new Answer(wrong ? "not what was sent" : null, 10, 20, 3, Answer.UNKNOWN);
  }

  @Override
  public Parts parts() {
    return parts;
  }

  @Override
  public void close() throws Exception {
    if (part.equals("hang-at-close")) {
      Thread.sleep(1_000_000);
    }
    if (part.equals("chatty")) {
      throw new IOException("cannot close");
    }
  }
}
