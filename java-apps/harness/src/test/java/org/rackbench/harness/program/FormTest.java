package org.rackbench.harness.program;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rackbench.harness.trial.Arrival;

/** Outputs of programs in each form, good and bad. */
class FormTest {

  /** 2026-03-01T22:00:00Z. */
  private static final long BEGIN_MS = 1_772_402_400_000L;

  private static final long BEGIN = TimeUnit.MILLISECONDS.toNanos(BEGIN_MS);
  private static final long END = BEGIN + TimeUnit.SECONDS.toNanos(20);

  private static final String JTL_HEADER =
      "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,"
          + "failureMessage,bytes,sentBytes,grpThreads,allThreads\n";

  @TempDir Path root;
  private CallFile calls;
  private Summary summary;

  private List<String> read(Form form, Arrival arrival, String output) throws Exception {
    Path file = Files.writeString(root.resolve("output"), output);
    Path log = root.resolve("calls.csv");
    try (CallFile open = new CallFile(log, BEGIN, BEGIN, END, arrival)) {
      calls = open;
      summary = form.reader().read(file, open);
    }
    List<String> lines = Files.readAllLines(log);
    return lines.subList(1, lines.size());
  }

  private String refusal(Form form, String output) {
    return assertThrows(UnreadableOutput.class, () -> read(form, null, output)).getMessage();
  }

  private static String jtl(long millis, String rest) {
    return BEGIN_MS + millis + "," + rest + "\n";
  }

  @Test
  void theLogOfJmeterIsReadWithItsQuotesAndItsFailures() throws Exception {
    String output =
        JTL_HEADER
            + jtl(5, "12,byte,200,OK,Users 1-1,text,true,,200,120,2,2")
            + jtl(6, "13,byte,200,\"a, \"\"b\"\"\nc\",Users 1-2,text,false,not it,200,120,2,2")
            + jtl(
                7,
                "14,byte,Non HTTP response code: java.net.SocketTimeoutException,"
                    + "Non HTTP response message: Read timed out,Users 1-1,text,false,,0,0,2,2")
            + jtl(8, "15,byte,500,Error,Users 1-1,text,false,,200,120,2,2");
    List<String> rows = read(Form.JTL, null, output);
    assertEquals(
        List.of(
            "0,0,measure,,5000000,12000000,120,200,ok",
            "1,1,measure,,6000000,13000000,120,200,wrong",
            "2,0,measure,,7000000,14000000,0,0,timeout",
            "3,0,measure,,8000000,15000000,120,200,error"),
        rows);
    assertNull(summary);
    assertEquals(4, calls.measured());
    assertEquals(1, calls.good());
    assertEquals("not it", calls.errors().get(0).get("text"));
  }

  @Test
  void aLogOfJmeterThatDoesNotHaveTheTimeOfEachCallIsRefused() {
    assertTrue(refusal(Form.JTL, "<?xml version=\"1.0\"?>\n").contains("no column timeStamp"));
    assertTrue(refusal(Form.JTL, "timeStamp,elapsed\n1,2\n").contains("no column success"));
    assertTrue(
        refusal(Form.JTL, "timeStamp,elapsed,success\n1,2,true\n")
            .contains("no column responseMessage"));
    String semicolons = refusal(Form.JTL, JTL_HEADER.replace(',', ';'));
    assertTrue(semicolons.contains("default_delimiter, .print_field_names)"), semicolons);
    String transaction =
        jtl(
            5,
            "12,all,200,\"Number of samples in transaction : 2, number of failing samples : 0\","
                + "U 1-1,,true,,1,1,1,1");
    String sample = jtl(5, "12,byte,200,OK,Users 1-1,text,true,,200,120,2,2");
    assertTrue(
        refusal(Form.JTL, JTL_HEADER + sample + transaction).contains("times are counted twice"));
    assertTrue(refusal(Form.JTL, JTL_HEADER + "5,12,byte\n").contains("line 2 has 3 columns"));
    String early = jtl(-2000, "12,byte,200,OK,Users 1-1,text,true,,200,120,2,2");
    assertTrue(refusal(Form.JTL, JTL_HEADER + early).contains("the call began -2.000 s after"));
    String late = jtl(19_000, "12000,byte,200,OK,Users 1-1,text,true,,200,120,2,2");
    assertTrue(refusal(Form.JTL, JTL_HEADER + late).contains("the call began 19.000 s after"));
    String seconds = BEGIN_MS / 1000 + ",12,byte,200,OK,Users 1-1,text,true,,200,120,2,2\n";
    assertTrue(refusal(Form.JTL, JTL_HEADER + seconds).contains("of this node's clock"));
  }

  @Test
  void aLogOfJmeterWithASampleAndItsPartsIsRefused() throws Exception {
    String whole = jtl(5, "100,home,200,OK,U 1-1,text,true,,900,120,2,2");
    String rest = ",home-0,302,Found,U 1-1,text,true,,900,120,2,2";
    String said = refusal(Form.JTL, JTL_HEADER + whole + jtl(5, "40" + rest));
    assertEquals(
        "line 3: home-0 is a part of the sample home, so times are counted twice; let JMeter write"
            + " whole samples (jmeter.save.saveservice.subresults=false)",
        said);
    String other = jtl(6, "40" + rest).replace("U 1-1", "U 1-2");
    String later = jtl(105, "40" + rest);
    assertEquals(3, read(Form.JTL, null, JTL_HEADER + whole + other + later).size());
  }

  @Test
  void aRowOfJmeterThatSumsSamplesIsRefused() throws Exception {
    String header = JTL_HEADER.replace("\n", ",SampleCount\n");
    String row = "12,byte,200,OK,Users 1-1,text,true,,200,120,2,2,";
    assertEquals(1, read(Form.JTL, null, header + jtl(5, row + "1")).size());
    assertEquals(
        "line 2 sums 100 samples; let JMeter log each one (mode=Standard)",
        refusal(Form.JTL, header + jtl(5, row + "100")));
  }

  @Test
  void columnsOfTheKitsOwnLogMayComeInAnyOrder() throws Exception {
    String output =
        "elapsed_ns,start_ns,phase,status,thread\n"
            + "7,%d,warmup,ok,0\n".formatted(BEGIN + 1)
            + "8,%d,measure,timeout,1\n".formatted(BEGIN + 2)
            + "9,%d,,,1\n".formatted(BEGIN + 3);
    assertEquals(
        List.of(
            "0,0,warmup,,1,7,-1,-1,ok",
            "1,1,measure,,2,8,-1,-1,timeout",
            "2,1,measure,,3,9,-1,-1,ok"),
        read(Form.CSV, null, output));
    assertEquals(2, calls.measured());
  }

  @Test
  void aCallWithoutItsThreadAmongOthersOrDueBeforeTheCommandIsRefused() {
    String one = jtl(5, "12,byte,200,OK,Users 1-1,text,true,,200,120,2,2");
    String unnamed = jtl(6, "12,byte,200,OK,,text,true,,200,120,2,2");
    String mixed = refusal(Form.JTL, JTL_HEADER + one + unnamed);
    assertTrue(mixed.contains("name all of them or none"), mixed);
    String early = "elapsed_ns,start_ns,intended_ns\n7,%d,10000000\n".formatted(BEGIN + 2);
    String due = refusal(Form.CSV, early);
    assertTrue(due.contains("was due before the command"), due);
  }

  @Test
  void aDueTimeInAClosedLoopIsRefused() throws Exception {
    String output = "elapsed_ns,start_ns,intended_ns\n70000,%1$d,%1$d\n".formatted(BEGIN);
    assertEquals(
        "line 2: the output says when the call was due, but the study has no arrival; add the key"
            + " arrival to the study file, or leave intended_ns out",
        refusal(Form.CSV, output));
    assertEquals(1, read(Form.CSV, new Arrival(10, false, 1), output).size());
    String empty = "elapsed_ns,start_ns,intended_ns\n70000,%d,\n".formatted(BEGIN);
    assertEquals(1, read(Form.CSV, null, empty).size());
  }

  @Test
  void aCallThatStandsThereTwiceIsRefused() throws Exception {
    String output = "seq,start_ns,elapsed_ns\n0,%1$d,5\n%2$s,%1$d,5\n";
    assertEquals(2, read(Form.CSV, null, output.formatted(BEGIN, "1")).size());
    String twice = refusal(Form.CSV, output.formatted(BEGIN, "0"));
    assertTrue(twice.contains("has the seq 0, which is too large or appears twice"), twice);
    assertTrue(refusal(Form.CSV, output.formatted(BEGIN, "x")).contains("not a whole number"));
  }

  @Test
  void aCallThatWasSentABitEarlyDidNotWait() throws Exception {
    String output =
        "start_ns,elapsed_ns,intended_ns\n%d,100000,%d\n".formatted(BEGIN + 500, BEGIN + 900_500);
    List<String> rows = read(Form.CSV, new Arrival(10, false, 1), output);
    assertEquals(List.of("0,,measure,500,500,100000,-1,-1,ok"), rows);
  }

  @Test
  void aCallThatWasSentLongBeforeItWasDueIsRefused() {
    String output =
        "start_ns,elapsed_ns,intended_ns\n%d,100000,%d\n".formatted(BEGIN, BEGIN + 1_100_000);
    Arrival arrival = new Arrival(10, false, 1);
    String said =
        assertThrows(UnreadableOutput.class, () -> read(Form.CSV, arrival, output)).getMessage();
    assertEquals("line 2: the call was sent before it was due", said);
  }

  @Test
  void aCallBeforeTheClockSteppedBackWaitedNoLonger() throws Exception {
    long start = BEGIN - TimeUnit.MILLISECONDS.toNanos(600);
    String output = "start_ns,elapsed_ns,intended_ns\n%d,100000,%d\n".formatted(start, start - 300);
    List<String> rows = read(Form.CSV, new Arrival(10, false, 1), output);
    assertEquals(List.of("0,,measure,-300,0,100000,-1,-1,ok"), rows);
  }

  @ParameterizedTest
  @CsvSource({
    "96, false, true", // 10.4 /s
    "94, false, false",
    "104, false, true",
    "106, false, false",
    "50, true, true", // of five calls at random, four standard deviations are twice the rate
  })
  void aRateMayBeFivePercentOffAndWhatChanceAdds(int gapMillis, boolean isPoisson, boolean isRate)
      throws Exception {
    StringBuilder output = new StringBuilder("start_ns,elapsed_ns,intended_ns\n");
    for (int i = 0; i < 5; i++) {
      long due = BEGIN + TimeUnit.MILLISECONDS.toNanos((long) i * gapMillis);
      output.append("%d,100000,%d\n".formatted(due, due));
    }
    read(Form.CSV, new Arrival(10, isPoisson, 1), output.toString());
    assertEquals(isRate, calls.otherRate(false).isEmpty(), calls.otherRate(false));
  }

  @ParameterizedTest
  @CsvSource({
    "JSON, even",
    "CSV, even",
    "JSON, none",
  })
  void whatVegetaEncodesIsReadAsItIs(String encoding, String spacing) throws Exception {
    // Call 2 was sent 3 ms late, and ended first.
    long[][] hits = {
      {2, 203_000_000L, 1_000_000L}, {0, 0, 5_000_000L}, {1, 100_000_000L, 200_000_000L}
    };
    StringBuilder output = new StringBuilder();
    for (long[] hit : hits) {
      output.append(
          encoding.equals("JSON")
              ? """
                {"attack":"","seq":%d,"code":200,"timestamp":"2026-03-01T23:00:00.%09d+01:00",\
                "latency":%d,"bytes_out":3,"bytes_in":1,"error":"","body":"YQ==","method":"GET",\
                "url":"http://192.0.2.1/","headers":{"Date":["now"]}}
                """
                  .formatted(hit[0], hit[1], hit[2])
              : "%d,200,%d,3,1,,YQ==,,%d,GET,http://192.0.2.1/,\n"
                  .formatted(BEGIN + hit[1], hit[2], hit[0]));
    }
    Arrival arrival = spacing.equals("none") ? null : new Arrival(10, false, 1);
    List<String> due =
        arrival == null ? List.of("", "", "") : List.of("200000000", "0", "100000000");
    assertEquals(
        List.of(
            "0,,measure," + due.get(0) + ",203000000,1000000,3,1,ok",
            "1,,measure," + due.get(1) + ",0,5000000,3,1,ok",
            "2,,measure," + due.get(2) + ",100000000,200000000,3,1,ok"),
        read(Form.VEGETA, arrival, output.toString()));
    assertEquals("", calls.otherRate(true));
  }

  @Test
  void twoAttacksOfVegetaInOneOutputAreRefused() {
    String first = "%d,200,10,3,1,,,,0,GET,u,\n".formatted(BEGIN);
    String second = "%d,200,10,3,1,,,,0,GET,u,\n".formatted(BEGIN + 5_000_000_000L);
    for (Arrival arrival : Arrays.asList(null, new Arrival(10, false, 1))) {
      String said =
          assertThrows(UnreadableOutput.class, () -> read(Form.VEGETA, arrival, first + second))
              .getMessage();
      assertEquals("line 2 has the seq 0 again; let the command encode one attack", said);
    }
    String huge = first.replace(",0,GET", "," + (1L << 40) + ",GET");
    assertTrue(refusal(Form.VEGETA, huge).contains("which is no number of a call"));
  }

  @Test
  void failedCallsOfVegetaAreNotOk() throws Exception {
    String output =
        "%d,500,10,3,1,,,,0,GET,u,\n".formatted(BEGIN)
            + "%d,0,10,3,1,\"Get u: dial, refused\",,,1,GET,u,\n".formatted(BEGIN)
            + "%d,0,10,3,1,context deadline exceeded,,,2,GET,u,\n".formatted(BEGIN);
    List<String> rows = read(Form.VEGETA, null, output);
    assertTrue(rows.get(0).endsWith(",error") && rows.get(1).endsWith(",error"), rows.toString());
    assertTrue(rows.get(2).endsWith(",timeout"), rows.toString());
    assertEquals("Get u: dial, refused", calls.errors().get(1).get("text"));
    assertTrue(refusal(Form.VEGETA, "Requests [total] 100\n").contains("no result of vegeta"));
    assertTrue(refusal(Form.VEGETA, "{\"latencies\":{}}\n").contains("no result of vegeta"));
  }

  @Test
  void aStatusFrom400OnIsAFailureOfVegetasCall() throws Exception {
    StringBuilder output = new StringBuilder();
    int seq = 0;
    for (int code : new int[] {200, 302, 399, 400, 404}) {
      output.append("%d,%d,10,3,1,,,,%d,GET,u,\n".formatted(BEGIN, code, seq++));
    }
    List<String> rows = read(Form.VEGETA, null, output.toString());
    assertEquals(
        List.of("ok", "ok", "ok", "error", "error"),
        rows.stream().map(row -> row.replaceAll(".*,", "")).toList());
  }

  @ParameterizedTest
  @ValueSource(longs = {-2, Long.MIN_VALUE, (1L << 40) + 1, Long.MAX_VALUE})
  void aSizeThatNoMessageHasIsRefused(long size) throws Exception {
    for (String sizes : List.of(size + ",1", "1," + size)) {
      String output = "%d,200,10,%s,,,,0,GET,u,\n".formatted(BEGIN, sizes);
      assertEquals(
          "line 1: a request or response has %d bytes; write from 0 to %d"
              .formatted(size, 1L << 40),
          refusal(Form.VEGETA, output));
    }
    read(Form.VEGETA, null, "%d,200,10,-1,%d,,,,0,GET,u,\n".formatted(BEGIN, 1L << 40));
  }

  @Test
  void whatWrkPrintsIsASummaryUnlessCallsFailed() throws Exception {
    String output =
        """
        Running 2s test @ http://127.0.0.1:8080/
          1 threads and 3 connections
          Thread Stats   Avg      Stdev     Max   +/- Stdev
            Latency     1.05ms  800.11us  20.05ms   97.09%
            Req/Sec     3.04k   310.60     3.36k    80.00%
          6060 requests in 2.00s, 1.11MB read
        Requests/sec:   3029.28
        Transfer/sec:    568.30KB
        """;
    assertEquals(List.of(), read(Form.WRK, null, output));
    assertEquals(new Summary(6060, 1.05, null, null, 20.05, 3029.28), summary);
    String failed = "  Non-2xx or 3xx responses: 12\nRequests/sec:";
    assertTrue(
        refusal(Form.WRK, output.replace("Requests/sec:", failed))
            .contains("include failed calls"));
    String timeouts = "  Socket errors: connect 0, read 0, write 0, timeout 4\nRequests/sec:";
    assertTrue(
        refusal(Form.WRK, output.replace("Requests/sec:", timeouts))
            .contains("include failed calls"));
    String none = "  Socket errors: connect 0, read 0, write 0, timeout 0\nRequests/sec:";
    read(Form.WRK, null, output.replace("Requests/sec:", none));
    assertTrue(refusal(Form.WRK, "unable to connect\n").contains("no line of wrk"));
    String noRate = output.replace("3029.28", "3029.28.1");
    assertEquals("it has no line of wrk with 'Requests/sec'", refusal(Form.WRK, noRate));
    String noCount = output.replace("6060", "6".repeat(30));
    assertEquals("it has no line of wrk with 'requests in'", refusal(Form.WRK, noCount));
    String cut = output.substring(0, output.indexOf("3029.28") + 3);
    assertEquals(
        "its last line does not end and may be cut; let the command end each line and flush its"
            + " output",
        refusal(Form.WRK, cut));
    assertTrue(refusal(Form.WRK, output + output).contains("two results of wrk"));
    assertTrue(
        refusal(Form.WRK, output.replace("2.00s,", "1.00m,")).contains("wrk ran for 60.0 s"));
    for (String time : List.of("1.05ms", "20.05ms")) {
      assertEquals(
          "a call took 60.0 s, but the command ran for 20.0 s",
          refusal(Form.WRK, output.replace(time, "1.00m")));
    }
    for (String rate : List.of("3114.00", "2940.00")) {
      assertEquals(
          "6060 requests in 2.00 s are not %s per second; let the command print what wrk prints"
              .formatted(rate),
          refusal(Form.WRK, output.replace("3029.28", rate)));
    }
    read(Form.WRK, null, output.replace("6060 requests in 2.00s", "6 requests in 2.00ms"));
    String endless = output.replace("3029.28", "9".repeat(400));
    assertEquals("it has no line of wrk with 'Requests/sec'", refusal(Form.WRK, endless));
  }

  private static String hdr(double begin, long unit, long... micros) {
    Histogram histogram = new Histogram(3);
    Arrays.stream(micros).forEach(value -> histogram.recordValue(value * unit));
    ByteBuffer packed = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
    byte[] bytes = new byte[histogram.encodeIntoCompressedByteBuffer(packed)];
    packed.rewind();
    packed.get(bytes);
    double longest = Arrays.stream(micros).max().orElseThrow() / 1e3;
    return "Tag=a,%.3f,1.000,%.3f,%s\n"
        .formatted(begin, longest, Base64.getEncoder().encodeToString(bytes));
  }

  @Test
  void aLogOfHistogramsIsASummaryOfAllItsIntervals() throws Exception {
    String head = "#[Histogram log format version 1.3]\n\"StartTimestamp\",\"Interval_Length\"\n";
    String output = head + hdr(0, 1000, 1000, 1000, 3000) + hdr(1, 1000, 3000);
    assertEquals(List.of(), read(Form.HDR, null, output));
    assertEquals(4, summary.calls());
    assertEquals(2.0, summary.meanMillis(), 0.01);
    assertEquals(3.0, summary.maxMillis(), 0.01);
    assertEquals(2.0, summary.callsPerSecond(), 1e-9);
    assertTrue(refusal(Form.HDR, head + hdr(0, 1, 1000)).contains("must be nanoseconds"));
    assertTrue(refusal(Form.HDR, head + hdr(0, 1000, 60_000_000)).contains("the command ran for"));
    String raw = head + hdr(0, 1000, 1000).replace(",1.000,1.000,", ",1.000,1000000.000,");
    assertTrue(refusal(Form.HDR, raw).contains("let the log writer divide it by 1000000"));
    assertTrue(refusal(Form.HDR, head).contains("no value"));
    assertTrue(refusal(Form.HDR, head + hdr(0, 1000, 0)).contains("all its values are 0"));
    assertTrue(
        refusal(Form.HDR, head + hdr(0, 1, 50)).contains("its largest value is 50, shorter"));
    assertTrue(
        refusal(Form.HDR, head + hdr(0, 1000, 10) + hdr(60, 1000, 10)).contains("cover 61.0 s"));
    String endless = (head + hdr(0, 1000, 10)).replace(",1.000,", ",Infinity,");
    assertTrue(refusal(Form.HDR, endless).contains("no value"));
    assertTrue(refusal(Form.HDR, "0.0,1.0,3.0,SGlzdA==\n").contains("no histogram"));
    assertTrue(refusal(Form.HDR, "words\n").contains("no interval"));
  }

  @Test
  void theMedianAndThe99thPercentileOfHistogramsAreThose() throws Exception {
    long[] micros = LongStream.rangeClosed(1, 1000).map(i -> 10 * i).toArray();
    read(Form.HDR, null, hdr(0, 1000, micros));
    assertEquals(5.0, summary.p50Millis(), 0.01);
    assertEquals(9.9, summary.p99Millis(), 0.02);
  }

  @Test
  void aLogOfHistogramsWithSeveralTagsIsRefused() throws Exception {
    String one = hdr(0, 1000, 1000);
    assertEquals(List.of(), read(Form.HDR, null, one + hdr(1, 1000, 1000)));
    String other = hdr(0, 1000, 9000).replace("Tag=a,", "Tag=b,");
    String untagged = hdr(0, 1000, 9000).replace("Tag=a,", "");
    for (String log : List.of(one + other, one + untagged, untagged + one)) {
      String said = refusal(Form.HDR, log);
      assertTrue(said.startsWith("line 2: the log has intervals of several tags"), said);
    }
  }

  @Test
  void aLineWithoutEndIsRefused() {
    String line = "x".repeat(5 << 20);
    assertTrue(refusal(Form.CSV, line).contains("line 1 is longer than"));
  }

  @Test
  void aLastLineThatMayBeCutIsRefused() throws Exception {
    String output = "start_ns,elapsed_ns\n%1$d,5000\n%1$d,5".formatted(BEGIN);
    assertEquals(
        "line 3 does not end and may be cut; let the command end each line and flush its output",
        refusal(Form.CSV, output));
    assertEquals(2, read(Form.CSV, null, output + "000\n").size());
  }
}
