package org.rackbench.harness.trial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rackbench.harness.api.Answer;
import org.rackbench.harness.api.Part;
import org.rackbench.harness.api.Parts;

class CallLogTest {

  private static final Answer RIGHT = new Answer(null, 10, 20, 3, Answer.UNKNOWN);

  @TempDir Path directory;

  @Test
  void onlyMeasuredCallsMakeATrialOk() {
    CallLog log = new CallLog(1, Warmup.fixed(2), 2);
    log.answer(0, RIGHT);
    log.answer(1, RIGHT);
    log.bad(2, CallLog.Status.ERROR, "refused");
    log.bad(3, CallLog.Status.TIMEOUT, "late");
    assertEquals(0, log.measuredOk());
  }

  @Test
  void onlyMeasuredCallsMakeTheMedian() {
    CallLog log = new CallLog(1, Warmup.fixed(3), 3);
    for (int seq = 0; seq < 6; seq++) {
      log.time(seq, 1000, 1000 + (seq < 3 ? 900 : seq));
    }
    assertEquals(4, log.medianNanos());
  }

  @Test
  void headerBytesAreThoseOfMeasuredCallsThatWereOkAndKnown() {
    CallLog log = new CallLog(1, Warmup.fixed(1), 3);
    log.answer(0, new Answer(null, 10, 20, 900, 900));
    log.answer(1, new Answer("wrong", 10, 20, 900, 900));
    log.answer(2, new Answer(null, 10, 20, 3, Answer.UNKNOWN));
    log.answer(3, new Answer(null, 10, 20, 5, 7));
    assertEquals(4.0, log.meanRequestHeaderBytes());
    assertEquals(7.0, log.meanResponseHeaderBytes());
  }

  @Test
  void theTextsOfTheFirstHundredErrorsAreKept() {
    CallLog log = new CallLog(1, Warmup.fixed(0), 150);
    for (int seq = 0; seq < 150; seq++) {
      log.bad(seq, CallLog.Status.ERROR, "refused");
    }
    assertEquals(100, log.errors().size());
  }

  @Test
  void timesCountFromTheStartOfTheTrial() throws IOException {
    CallLog log = new CallLog(1, Warmup.fixed(0), 1);
    log.time(0, 5_000_000_123L, 5_000_000_223L);
    log.answer(0, RIGHT);
    Path file = directory.resolve("calls.csv");
    log.write(file, 5_000_000_000L);
    assertEquals("0,0,measure,,123,100,10,20,ok", Files.readAllLines(file).get(1));
  }

  @Test
  void callsThatWereNotMadeLeaveNoGapInSeq() throws IOException {
    CallLog log = new CallLog(1, new Warmup(1, 5, 0.1), 2);
    log.answer(0, RIGHT);
    log.answer(5, RIGHT);
    log.bad(6, CallLog.Status.ERROR, "refused");
    Path file = directory.resolve("calls.csv");
    log.write(file, 0);
    List<String> rows = Files.readAllLines(file).stream().skip(1).toList();
    assertEquals(
        List.of("0,0,warmup", "1,0,measure", "2,0,measure"),
        rows.stream().map(row -> row.replaceAll(",,.*", "")).toList());
    assertEquals(2, log.errors().get(0).get("seq"));
  }

  @Test
  void thePartsOfMeasuredCallsThatWereOkAreWrittenWithTheirSeq() throws IOException {
    Parts parts = new Parts(true);
    parts.begin(Part.SEND);
    parts.begin(Part.REST);
    CallLog log = new CallLog(1, new Warmup(1, 5, 0.1), 3, true);
    for (int number : new int[] {0, 5, 6, 7}) {
      log.parts(number, parts);
    }
    log.answer(0, RIGHT);
    log.bad(5, CallLog.Status.ERROR, "refused");
    log.answer(6, RIGHT);
    log.answer(7, RIGHT);
    Path file = directory.resolve("parts.csv");
    log.writeParts(file);
    long send = parts.nanos(Part.SEND);
    assertEquals(
        List.of(
            "seq,serialise_ns,send_ns,wait_ns,parse_ns",
            "2,,%d,,".formatted(send),
            "3,,%d,,".formatted(send)),
        Files.readAllLines(file));
  }

  @Test
  void noFileIsWrittenWhenTheClientMarksNothing() throws IOException {
    CallLog log = new CallLog(1, Warmup.fixed(0), 1, true);
    log.parts(0, null);
    log.answer(0, RIGHT);
    log.writeParts(directory.resolve("parts.csv"));
    assertFalse(Files.exists(directory.resolve("parts.csv")));
  }
}
