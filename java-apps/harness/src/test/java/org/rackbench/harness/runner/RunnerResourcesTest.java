package org.rackbench.harness.runner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.rackbench.harness.trial.Durable;
import org.rackbench.harness.trial.Json;
import org.rackbench.harness.trial.LabFile;

/** The resources of the nodes of a trial, as the runner seals them with the trial. */
class RunnerResourcesTest extends RunnerInLab {

  private static final Map<String, Object> TOMCATS =
      Map.of("needs", List.of("tomcat"), "servers", 2);
  private static final long SECOND = 1_000_000_000L;

  private static Map<String, Object> told(long now, String boot, Map<String, Object> series) {
    return Json.of(
        "now_ns",
        now,
        "took_ns",
        1000,
        "cores",
        2,
        "boot",
        boot,
        "link_mbit",
        null,
        "link_is_hardware",
        false,
        "memory_bytes",
        1L << 31,
        "limits",
        Map.of("tomcat", 0.5),
        "series",
        series);
  }

  /** A sample of a service: only a node has counters of the network. */
  private static List<Object> sample(long at, String start, long cpu, long rss, Integer gc) {
    return Arrays.asList(at, start, cpu, rss, null, null, null, null, null, gc);
  }

  private static List<String> cells(String row) {
    return Arrays.asList(row.split(",", -1));
  }

  private static String after(String row, int cells) {
    return String.join(",", cells(row).subList(cells, cells(row).size()));
  }

  private Map<?, ?> node(String name) throws Exception {
    Map<?, ?> resources = (Map<?, ?>) bench.trial("t1").get("resources");
    return (Map<?, ?>) ((Map<?, ?>) resources.get("nodes")).get(name);
  }

  private List<String> rows(String id) throws Exception {
    return Files.readAllLines(bench.sealed(id).resolve("resources.csv"));
  }

  @Test
  void differencesAreSealedOnTheTimeScaleOfTheTrial() throws Exception {
    long begin = System.nanoTime();
    List<Object> node =
        List.of(
            Arrays.asList(begin, null, 5, 70, 1000, 2000, 3, null, null, null),
            Arrays.asList(begin + SECOND, null, 1_500_005, 80, 1100, 2500, 3, null, null, null));
    List<Object> tomcat =
        List.of(
            sample(begin, "a", 100, 10, 5000),
            sample(begin + 2 * SECOND, "a", 500_100, 11, 7250),
            sample(begin + 3 * SECOND, "b", 600_000, 12, 7250), // restarted
            sample(begin + 4 * SECOND, "b", 10, 13, 7250), // the counter went back
            sample(begin + 5 * SECOND, "b", 20, 14, null));
    nodes.use("worker1", told(begin, "one", Json.of("tomcat", tomcat, "", node)));
    long elsewhere = begin - 1000 * SECOND; // another machine, whose clock began later
    nodes.use("worker2", told(elsewhere, "two", Json.of("", List.of(node.get(0)))));
    bench.plan("t1", "ok", TOMCATS);
    bench.plan("t2", "all-wrong", TOMCATS);
    assertEquals(0, bench.runner().status());

    List<String> rows = rows("t1");
    assertEquals(Resources.HEADER.strip(), rows.get(0));
    assertEquals(9, rows.size());
    assertEquals("worker1,,,70,,,,,,", after(rows.get(1), 1));
    assertEquals("worker1,,1.5000,80,100,500,0,,,", after(rows.get(2), 1));
    assertEquals("worker1,tomcat,,10,,,,,,", after(rows.get(3), 1));
    assertEquals("worker1,tomcat,0.2500,11,,,,,,2.250", after(rows.get(4), 1));
    assertEquals("worker1,tomcat,,12,,,,,,", after(rows.get(5), 1));
    assertEquals("worker1,tomcat,,13,,,,,,", after(rows.get(6), 1));
    assertEquals("worker1,tomcat,0.0000,14,,,,,,", after(rows.get(7), 1));
    Map<?, ?> clock = (Map<?, ?>) bench.trial("t1").get("clock");
    long origin = ((Number) clock.get("origin_ns")).longValue();
    assertEquals(begin - origin, Long.parseLong(cells(rows.get(1)).get(0)));
    Map<?, ?> resources = (Map<?, ?>) bench.trial("t1").get("resources");
    assertEquals("resources.csv", resources.get("file"));
    assertEquals(8, resources.get("rows"));
    FileSeal seal = FileSeal.of(bench.sealed("t1").resolve("resources.csv"));
    assertEquals(seal.sha256(), resources.get("sha256"));
    assertEquals(
        Json.of(
            "cores",
            2,
            "boot",
            "one",
            "link_mbit",
            100,
            "memory_bytes",
            1L << 31,
            "limits",
            Map.of("tomcat", 0.5),
            "missing",
            ""),
        node("worker1"));
    assertEquals("failed", bench.trial("t2").get("outcome"));
    assertEquals(rows.size(), rows("t2").size());
  }

  @Test
  void aLocaleWithOtherDigitsChangesNoRequest() throws Exception {
    nodes.use("worker1", told(1, "one", Map.of()));
    bench.plan("t1", "ok", TOMCATS);
    assertEquals(0, bench.runner(Map.of("JAVA_TOOL_OPTIONS", "-Duser.language=fa")).status());
    assertTrue(nodes.asked("worker1").contains("/resources?since=1&most=1800"));
  }

  @Test
  void theClockOfAnotherMachineIsFoundFromTheMiddleOfTheRequest() {
    // Asked at 1000, answered at 1600; it arrived at 50 there and took 200: 200 each way.
    Map<String, Object> answer = Json.of("now_ns", 50L, "took_ns", 200L);
    assertEquals(1200, 50 + new Resources.Told(answer, "", 1000, 1600).offset());
  }

  @Test
  void whatIsMissingIsSaidAndNoZero() throws Exception {
    nodes.use("worker1", told(1, "one", Map.of()));
    bench.plan("t1", "ok", TOMCATS);
    assertEquals(0, bench.runner().status());
    assertEquals(List.of(Resources.HEADER.strip()), rows("t1"));
    assertEquals("it has no sample from the time of the trial", node("worker1").get("missing"));
    assertEquals(
        "its health service is of an earlier version; run site.yml again",
        node("worker2").get("missing"));
    assertEquals(null, node("worker2").get("cores"));
    assertEquals("ok", bench.trial("t1").get("outcome"));
  }

  @Test
  void aNodeThatWentAwayOrSaysNothingOfUseIsMissing() throws Exception {
    nodes.shut("worker2");
    ServingNodes served = new ServingNodes(LabFile.read(root.resolve("lab.json")));
    Health health = new Health(served, root, 0, Set.of());
    ServingNode gone = new ServingNode("worker2", "127.0.0.2", List.of());
    String why = health.used(gone, 0, 9).join().checked().missing();
    assertTrue(why.startsWith("it does not answer: "), why);
    Resources.Told cut = new Resources.Told(Map.of("series", Map.of()), "", 0, 0);
    assertTrue(cut.checked().missing().contains("earlier version"), cut.checked().missing());
  }

  @Test
  void aMalformedAnswerOfOneNodeIsMissingAndNoMore() throws Exception {
    long now = System.nanoTime();
    List<Object> whole = sample(now, "a", 100, 10, 5000);
    List<Object> word = new ArrayList<>(whole);
    word.set(2, "many");
    Map<String, Object> malformed = new LinkedHashMap<>();
    malformed.put("a word for a number", List.of(whole, word));
    malformed.put("missing columns", List.of(whole, whole.subList(0, 4)));
    malformed.put("no time", List.of(Arrays.asList(new Object[10])));
    malformed.put("no rows", List.of(7));
    malformed.put("no list", "none");
    for (Map.Entry<String, Object> one : malformed.entrySet()) {
      nodes.use("worker1", told(now, "one", Json.of("", List.of(whole), "tomcat", one.getValue())));
      nodes.use("worker2", told(now, "one", Json.of("", List.of(whole))));
      bench.plan("t1", "ok", TOMCATS);
      Bench.Ended ended = bench.runner();
      assertEquals(0, ended.status(), one.getKey() + ": " + ended.output());
      assertEquals("ok", bench.trial("t1").get("outcome"));
      String missing = node("worker1").get("missing").toString();
      assertTrue(missing.startsWith("its samples of 'tomcat' are malformed: "), missing);
      assertEquals("", node("worker2").get("missing"));
      assertEquals(2, rows("t1").size(), "rows of the malformed answer were kept");
      Durable.remove(bench.run);
      Files.createDirectories(bench.run);
    }
    nodes.use("worker1", Json.of("series", 5, "now_ns", 1, "took_ns", 1));
    bench.plan("t1", "ok", TOMCATS);
    assertEquals(0, bench.runner().status());
    assertEquals("its answer is malformed: series is 5", node("worker1").get("missing"));
  }

  @Test
  void theSettingsOfAServiceAreAskedForOnceForEachOfItsStarts() throws Exception {
    bench.plan("t1", "ok", TOMCATS);
    bench.plan("t2", "ok", TOMCATS);
    assertEquals(0, bench.runner().status());
    Map<?, ?> settings = (Map<?, ?>) bench.trial("t2").get("settings");
    assertEquals(Set.of("tomcat on worker1", "tomcat on worker2"), settings.keySet());
    assertEquals(Map.of("threads", "200"), settings.get("tomcat on worker2"));
    assertEquals(1, nodes.asked("worker2").stream().filter("/settings"::equals).count());
  }

  @Test
  void whatTheSweepReadFromTheNodesOfATrialIsKept() throws Exception {
    Map<String, Object> rate = Map.of("link_mbit", 10);
    Map<String, Object> read = Json.of("node on worker2", rate, "node on worker9", rate);
    Files.write(bench.run.resolve("setting.json"), Json.bytes(read));
    bench.plan("t1", "ok", TOMCATS);
    assertEquals(0, bench.runner().status());
    Map<?, ?> settings = (Map<?, ?>) bench.trial("t1").get("settings");
    assertEquals(rate, settings.get("node on worker2"));
    assertEquals(
        Set.of("tomcat on worker1", "tomcat on worker2", "node on worker2"), settings.keySet());
  }

  @Test
  void aNodeIsAskedForTheKernelsValuesThatTheSweepSet() throws Exception {
    String backlog = "sysctl.net.core.somaxconn";
    Map<String, Object> read = Json.of(backlog, "64", "link_mbit", 10);
    Files.write(
        bench.run.resolve("setting.json"),
        Json.bytes(Json.of("node on worker1", read, "node on worker9", read)));
    nodes.setKernel(Map.of(backlog, "4096"));
    bench.plan("t1", "ok", TOMCATS);
    assertEquals(0, bench.runner().status());
    Map<?, ?> settings = (Map<?, ?>) bench.trial("t1").get("settings");
    assertEquals(Map.of(backlog, "4096", "link_mbit", 10), settings.get("node on worker1"));
    assertEquals(
        Set.of("tomcat on worker1", "tomcat on worker2", "node on worker1"), settings.keySet());
    assertTrue(nodes.asked("worker1").contains("/settings?sysctl=net.core.somaxconn"));
    assertTrue(nodes.asked("worker2").contains("/settings"));
  }

  @Test
  void aTrialWithoutObserversAsksOnlyHowTheServicesAre() throws Exception {
    nodes.use("worker1", told(1, "one", Map.of()));
    Map<String, Object> constants =
        Map.of("client_heap_mb", 32, "call_timeout_s", 0.2, "observe", "none");
    Map<String, Object> more = Json.of("constants", constants);
    more.putAll(TOMCATS);
    bench.plan("t1", "ok", more);
    assertEquals(0, bench.runner().status());
    assertEquals(Set.of("/?observe=none"), Set.copyOf(nodes.asked("worker1")));
    assertEquals("ok", bench.trial("t1").get("outcome"));
    assertNull(bench.trial("t1").get("resources"));
    for (String key : List.of("settings", "interference")) {
      assertEquals(Map.of(), bench.trial("t1").get(key), key);
    }
    assertTrue(Files.notExists(bench.sealed("t1").resolve("resources.csv")));
  }

  @Test
  void anObservedTrialNeedsACheckOfItsOwnAfterOneWithoutObservers() throws Exception {
    nodes.use("worker1", told(1, "one", Map.of()));
    Map<String, Object> constants =
        Map.of("client_heap_mb", 32, "call_timeout_s", 0.2, "observe", "none");
    Map<String, Object> more = Json.of("constants", constants);
    more.putAll(TOMCATS);
    bench.plan("t0", "ok", more);
    bench.plan("t1", "ok", TOMCATS);
    assertEquals(0, bench.runner().status());
    assertEquals(2, nodes.asked("worker2").stream().filter("/"::equals).count());
  }

  /** The start of the first measured call of t1 and the end of the last one. */
  private List<Long> measured() throws Exception {
    Map<?, ?> clock = (Map<?, ?>) bench.trial("t1").get("clock");
    long origin = ((Number) clock.get("origin_ns")).longValue();
    List<List<String>> calls =
        bench.calls("t1").stream()
            .map(RunnerResourcesTest::cells)
            .filter(call -> call.get(2).equals("measure"))
            .toList();
    List<String> last = calls.get(calls.size() - 1);
    return List.of(
        origin + Long.parseLong(calls.get(0).get(4)),
        origin + Long.parseLong(last.get(4)) + Long.parseLong(last.get(5)));
  }

  @Test
  void nodesAreSampledRightBeforeAndAfterTheMeasuredCalls() throws Exception {
    nodes.use("worker1", told(1, "one", Map.of()));
    bench.plan("t1", "ok", TOMCATS);
    assertEquals(0, bench.runner().status());
    List<Long> sampled = nodes.sampledAt("worker1");
    assertEquals(2, sampled.size());
    assertTrue(sampled.get(0) < measured().get(0), "the first is before the calls");
    assertTrue(sampled.get(1) > measured().get(1), "the last is after them");
    assertEquals(List.of(), nodes.sampledAt("worker2"), "it did not say that it samples");
    assertTrue(Files.notExists(bench.sealed("t1").resolve("measuring")));
    assertFalse(nodes.keptConnection());
  }

  @Test
  void samplesThatTakeTooLongHoldUpNoTrialNorTheNextSample() throws Exception {
    nodes.use("worker1", told(1, "one", Map.of()));
    nodes.sampleIn(400);
    bench.plan("t1", "ok", TOMCATS);
    assertEquals(0, bench.runner().status());
    assertEquals("ok", bench.trial("t1").get("outcome"));
    List<Long> sampled = nodes.sampledAt("worker1");
    long waited = measured().get(0) - sampled.get(0);
    assertTrue(waited < 400_000_000L, "the trial waited " + waited + " ns");
    assertEquals(2, sampled.size());
  }

  @Test
  void aTrialThatIsCutOffLeavesNoTraceOfItsMeasuredPhase() throws Exception {
    nodes.use("worker1", told(1, "one", Map.of()));
    bench.plan("t1", "memory", Json.of("needs", List.of("tomcat"), "servers", 2, "warmup", 0));
    assertEquals(0, bench.runner().status());
    assertEquals("oom", bench.trial("t1").get("outcome"));
    assertEquals(1, nodes.sampledAt("worker1").size(), "it began to measure");
    assertTrue(Files.notExists(bench.sealed("t1").resolve("measuring")));
  }
}
