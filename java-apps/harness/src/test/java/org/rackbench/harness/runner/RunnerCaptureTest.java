package org.rackbench.harness.runner;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.rackbench.harness.trial.Json;

/** A runner whose plan has trials with captured packets. */
class RunnerCaptureTest extends RunnerInLab {

  private static final byte[] PACKETS = {0x4d, 0x3c, 10, -1};
  private static final String READY = "{\"missing\": \"\"}\n";
  private static final String END = "{\"missing\": \"\", \"packets\": 2, \"ports\": [8080]}\n";

  /** The caller's data before it ended its side, one entry for each connection. */
  private final BlockingQueue<String> heard = new LinkedBlockingQueue<>();

  private void plan(String id, boolean captured, String part) throws Exception {
    Map<String, Object> more =
        Json.of("needs", List.of("tomcat"), "restart", "none", "calls", 1, "warmup", 1);
    if (captured) {
      more.put("captured", true);
    }
    bench.plan(id, part, more);
  }

  private Map<?, ?> captured(String id) throws Exception {
    Bench.Ended ended = bench.runner();
    assertEquals(0, ended.status(), ended.output());
    return (Map<?, ?>) bench.trial(id).get("capture");
  }

  /** Stands in for the unit that keeps packets, for one connection. */
  private ServerSocketChannel unit(String first, String last) throws IOException {
    Map<String, Object> lab = Json.read(root.resolve("lab.json"));
    lab.put("capture_socket", root.resolve("unit").toString());
    Files.write(root.resolve("lab.json"), Json.bytes(lab));
    ServerSocketChannel listening = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    listening.bind(UnixDomainSocketAddress.of(root.resolve("unit")));
    Thread thread = new Thread(() -> serve(listening, first, last), "unit");
    thread.setDaemon(true);
    thread.start();
    return listening;
  }

  private void serve(ServerSocketChannel listening, String first, String last) {
    try (SocketChannel connection = listening.accept()) {
      connection.write(ByteBuffer.wrap(first.getBytes()));
      ByteBuffer said = ByteBuffer.allocate(100);
      while (connection.read(said) >= 0) {
        continue;
      }
      heard.add(new String(said.array(), 0, said.position()));
      connection.write(ByteBuffer.wrap(last.getBytes()));
      connection.write(ByteBuffer.wrap(PACKETS));
    } catch (IOException e) {
      heard.add(e.toString());
    }
  }

  @Test
  void packetsAreKeptAfterAllTrialsThatCountAndSealed() throws Exception {
    plan("b2-t2", true, "ok"); // at any place in the plan
    plan("b1-t1", false, "ok");
    try (ServerSocketChannel unit = unit(READY, END)) {
      Map<?, ?> capture = captured("b2-t2");
      assertEquals("", capture.get("missing"));
      assertEquals(2, capture.get("packets"));
      assertEquals("capture.pcap", capture.get("file"));
      Path file = bench.sealed("b2-t2").resolve("capture.pcap");
      assertArrayEquals(PACKETS, Files.readAllBytes(file));
      assertEquals(FileSeal.of(file).sha256(), capture.get("sha256"));
      assertEquals("", heard.poll(10, TimeUnit.SECONDS), "the caller asks for nothing in words");
    }
    Map<String, Object> counted = bench.trial("b1-t1");
    assertNull(counted.get("capture"));
    assertTrue(
        counted
                .get("ended_at")
                .toString()
                .compareTo(bench.trial("b2-t2").get("started_at").toString())
            <= 0);
  }

  @Test
  void whatTheUnitRefusesIsAGapWithItsReason() throws Exception {
    plan("b1-t1", true, "ok");
    try (ServerSocketChannel unit = unit("{\"missing\": \"the kernel refuses\"}\n", "")) {
      assertEquals(Map.of("missing", "the kernel refuses"), captured("b1-t1"));
    }
    assertEquals("ok", bench.trial("b1-t1").get("outcome"));
    assertFalse(Files.exists(bench.sealed("b1-t1").resolve("capture.pcap")));
  }

  @Test
  void aNodeWithoutTheUnitAnotherVersionOfItAndAUnitThatIsGoneAreGaps() throws Exception {
    plan("b1-t1", true, "ok");
    assertTrue(captured("b1-t1").get("missing").toString().contains("run site.yml again"));
    plan("b1-t2", true, "ok");
    ServerSocketChannel unit = unit("no JSON\n", "");
    String reason = captured("b1-t2").get("missing").toString();
    assertTrue(reason.contains("another version"), reason);
    unit.close();
    plan("b1-t3", true, "ok");
    reason = captured("b1-t3").get("missing").toString();
    assertTrue(reason.contains("journalctl -u rackbench-capture"), reason);
  }

  @Test
  void aTrialWhoseJvmLeavesNoResultSaysSo() throws Exception {
    plan("b1-t1", true, "memory");
    assertEquals(Map.of("missing", "its JVM left no result"), captured("b1-t1"));
    assertEquals("oom", bench.trial("b1-t1").get("outcome"));
  }
}
