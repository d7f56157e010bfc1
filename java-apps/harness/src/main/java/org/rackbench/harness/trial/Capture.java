package org.rackbench.harness.trial;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Caller;
import org.rackbench.harness.api.Client;
import org.rackbench.harness.api.Parts;
import org.rackbench.harness.api.Setting;

/**
 * The packets of the measured call, for a trial that never counts. A unit of this node captures
 * packets while a connection to it is open. A refusal is a gap with its reason, never a fault of
 * the trial.
 *
 * <p>It is not an {@link Observer}: only packets of this one call are wanted, so its thread makes
 * no uncounted calls around it. A layer around the client starts and ends the capture.
 */
public final class Capture implements AutoCloseable {

  /** Name of the capture file in the directory of the attempt. */
  public static final String FILE = "capture.pcap";

  /** Key of lab.json. */
  private static final String SOCKET = "capture_socket";

  /**
   * Pause before the call and after it, in milliseconds: acknowledgements of packets come up to 200
   * ms late.
   */
  private static final int QUIET_MS = 250;

  private static final int PATIENCE_MS = 10_000;
  private static final int MOST_BYTES = 1 << 20;

  private final String socket;
  private final long measured;
  private SocketChannel line;
  private Map<String, Object> about = missing("its call did not end");
  private byte[] packets;

  /**
   * @param lab names the socket of the unit
   * @param measured the number of the call
   */
  Capture(LabFile lab, long measured) {
    this.socket = lab.value(SOCKET) instanceof String path ? path : "";
    this.measured = measured;
  }

  /** Returns a client that makes the calls of another one and captures the measured call. */
  Client around(Client client) {
    return new Client() {
      @Override
      public void open(Setting setting) throws Exception {
        client.open(setting);
      }

      @Override
      public Caller caller(int thread) throws Exception {
        return new CapturedCaller(client.caller(thread));
      }

      @Override
      public void close() throws Exception {
        client.close();
      }
    };
  }

  private final class CapturedCaller implements Caller {

    private final Caller inner;

    CapturedCaller(Caller inner) {
      this.inner = inner;
    }

    @Override
    public void prepare(long seq) throws Exception {
      end(); // of a call that threw
      inner.prepare(seq);
      if (seq == measured) {
        begin();
      }
    }

    @Override
    public void call() throws Exception {
      inner.call();
    }

    @Override
    public Answer verify() throws Exception {
      end();
      return inner.verify();
    }

    @Override
    public Parts parts() {
      return inner.parts();
    }

    @Override
    public void close() throws Exception {
      inner.close();
    }
  }

  private void begin() {
    try {
      open();
    } catch (IOException | BadInput e) {
      refuse(e);
    }
  }

  private void end() {
    if (line == null) {
      return;
    }
    try {
      pause();
      line.shutdownOutput();
      receive();
    } catch (IOException | BadInput e) {
      refuse(e);
    }
    close();
  }

  private void open() throws IOException {
    if (socket.isEmpty()) {
      about = missing("this node cannot capture packets; run site.yml again");
      return;
    }
    pause();
    line = SocketChannel.open(StandardProtocolFamily.UNIX);
    line.connect(UnixDomainSocketAddress.of(socket));
    line.configureBlocking(false);
    Map<String, Object> said = Json.parse(text(read(true)), socket);
    if (!"".equals(said.get("missing"))) {
      about = said;
      close();
    }
  }

  private void receive() throws IOException {
    byte[] answer = read(false);
    int end = 0;
    while (end < answer.length && answer[end] != '\n') {
      end++;
    }
    about = Json.parse(text(Arrays.copyOf(answer, end)), socket);
    if ("".equals(about.get("missing"))) {
      packets = Arrays.copyOfRange(answer, Math.min(end + 1, answer.length), answer.length);
    }
  }

  /** Reads a line, or to the end. */
  private byte[] read(boolean isLine) throws IOException {
    ByteArrayOutputStream answer = new ByteArrayOutputStream();
    ByteBuffer part = ByteBuffer.allocate(1 << 14);
    final long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MS);
    try (Selector selector = Selector.open()) {
      line.register(selector, SelectionKey.OP_READ);
      while (answer.size() <= MOST_BYTES && System.nanoTime() < end) {
        selector.select(PATIENCE_MS);
        int count = line.read(part.clear());
        if (count < 0) {
          return answer.toByteArray();
        }
        answer.write(part.array(), 0, count);
        if (isLine && text(answer.toByteArray()).endsWith("\n")) {
          return answer.toByteArray();
        }
      }
    }
    throw new IOException("it gave no complete answer within %d s".formatted(PATIENCE_MS / 1000));
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static void pause() throws IOException {
    try {
      Thread.sleep(QUIET_MS);
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  private void refuse(Exception e) {
    about = missing("%s: %s; see journalctl -u rackbench-capture".formatted(socket, text(e)));
    close();
  }

  private static String text(Exception e) {
    return e instanceof BadInput ? "its answer is of another version" : ErrorText.of(e);
  }

  private static Map<String, Object> missing(String reason) {
    return Json.of("missing", reason);
  }

  /** Ends the capture. */
  @Override
  public void close() {
    MeasuringLoop.close(line);
    line = null;
  }

  /** Writes the packets to {@code directory}, if there are any. */
  void write(Path directory) throws IOException {
    if (packets != null) {
      Files.write(directory.resolve(FILE), packets);
    }
  }

  /** Returns its entry of the result; {@code missing} is why there are no packets, or "". */
  Map<String, Object> record() {
    return about;
  }
}
