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
    log.answer(log.warmup(0, 0), RIGHT);
    log.answer(log.warmup(0, 1), RIGHT);
    log.answer(log.lead(0, 0), RIGHT);
    log.bad(log.measured(0, 0), CallLog.Status.ERROR, "refused");
    log.bad(log.measured(0, 1), CallLog.Status.TIMEOUT, "late");
    log.answer(log.cooldown(0, 0), RIGHT);
    assertEquals(0, log.measuredOk());
  }

  @Test
  void onlyMeasuredCallsMakeTheMedian() {
    CallLog log = new CallLog(1, Warmup.fixed(3), 3);
    for (int i = 0; i < 3; i++) {
      log.time(log.warmup(0, i), 1000, 1900);
      log.time(log.measured(0, i), 1000, 1003 + i);
      log.time(log.cooldown(0, i), 1000, 1900);
    }
    assertEquals(4, log.medianNanos());
  }

  @Test
  void headerBytesAreThoseOfMeasuredCallsThatWereOkAndKnown() {
    CallLog log = new CallLog(1, Warmup.fixed(1), 3);
    log.answer(log.warmup(0, 0), new Answer(null, 10, 20, 900, 900));
    log.answer(log.measured(0, 0), new Answer("wrong", 10, 20, 900, 900));
    log.answer(log.measured(0, 1), new Answer(null, 10, 20, 3, Answer.UNKNOWN));
    log.answer(log.measured(0, 2), new Answer(null, 10, 20, 5, 7));
    assertEquals(4.0, log.meanRequestHeaderBytes());
    assertEquals(7.0, log.meanResponseHeaderBytes());
  }

  @Test
  void theTextsOfTheFirstHundredErrorsAreKept() {
    CallLog log = new CallLog(1, Warmup.fixed(0), 150);
    for (int seq = 0; seq < 150; seq++) {
      log.bad(log.measured(0, seq), CallLog.Status.ERROR, "refused");
    }
    assertEquals(100, log.errors().size());
  }

  @Test
  void theTextsOfCallsAroundTheMeasuredOnesAreNotKept() {
    CallLog log = new CallLog(1, Warmup.fixed(1), 1);
    log.bad(log.warmup(0, 0), CallLog.Status.ERROR, "refused");
    log.bad(log.lead(0, 0), CallLog.Status.ERROR, "its slot is used again");
    log.bad(log.cooldown(0, 0), CallLog.Status.ERROR, "it would take a place");
    assertEquals(List.of("refused"), log.errors().stream().map(e -> e.get("text")).toList());
  }

  @Test
  void timesCountFromTheStartOfTheTrial() throws IOException {
    CallLog log = new CallLog(1, Warmup.fixed(0), 1);
    log.time(log.measured(0, 0), 5_000_000_123L, 5_000_000_223L);
    log.answer(log.measured(0, 0), RIGHT);
    Path file = directory.resolve("calls.csv");
    log.write(file, 5_000_000_000L);
    assertEquals("0,0,measure,,123,100,10,20,ok", Files.readAllLines(file).get(1));
  }

  @Test
  void callsThatWereNotMadeLeaveNoGapInSeq() throws IOException {
    CallLog log = new CallLog(1, new Warmup(1, 5, 0.1), 2);
    make(log, 0, log.warmup(0, 0), 100, RIGHT);
    make(log, 0, log.measured(0, 0), 200, RIGHT);
    log.begin(log.measured(0, 1), 0, 300);
    log.bad(log.measured(0, 1), CallLog.Status.ERROR, "refused");
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
    for (int i = 0; i < 3; i++) {
      log.parts(log.measured(0, i), parts);
    }
    log.answer(log.warmup(0, 0), RIGHT);
    log.bad(log.measured(0, 0), CallLog.Status.ERROR, "refused");
    log.answer(log.measured(0, 1), RIGHT);
    log.answer(log.measured(0, 2), RIGHT);
    for (int slot : new int[] {log.warmup(0, 0), log.lead(0, 0), log.cooldown(0, 200)}) {
      log.parts(slot, new Parts(true)); // of calls that are not measured
    }
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
    Parts parts = new Parts(true);
    parts.begin(Part.SEND);
    parts.begin(Part.REST);
    log.parts(log.lead(0, 0), parts); // not of a measured call
    log.parts(log.measured(0, 0), null);
    log.answer(log.measured(0, 0), RIGHT);
    log.writeParts(directory.resolve("parts.csv"));
    assertFalse(Files.exists(directory.resolve("parts.csv")));
  }

  @Test
  void theLastLeadCallsOfEachThreadAreRowsOfTheWarmupInTheOrderOfTheirStart() throws IOException {
    CallLog log = new CallLog(2, Warmup.fixed(1), 1);
    int leads = CallLog.LEADS_KEPT + 5;
    for (int i = 0; i < leads; i++) {
      make(log, 0, log.lead(0, i), 1000 + 10 * i, RIGHT);
    }
    make(log, 1, log.lead(1, 0), 1005 + 10 * (leads - 1), RIGHT);
    make(log, 0, log.warmup(0, 0), 900, RIGHT);
    make(log, 0, log.measured(0, 0), 5000, RIGHT);
    log.begin(log.measured(1, 0), 1, 5000);
    log.bad(log.measured(1, 0), CallLog.Status.ERROR, "refused");
    Path file = directory.resolve("calls.csv");
    log.write(file, 0);
    List<String[]> rows =
        Files.readAllLines(file).stream().skip(1).map(row -> row.split(",")).toList();
    List<String[]> warmup = rows.stream().filter(row -> row[2].equals("warmup")).toList();
    assertEquals(1 + CallLog.LEADS_KEPT + 1, warmup.size());
    assertEquals(log.warmupRows(), warmup.size());
    List<Long> starts = warmup.stream().map(row -> Long.valueOf(row[4])).toList();
    assertEquals(starts.stream().sorted().toList(), starts);
    assertEquals(1000L + 10 * 5, starts.get(1), "the oldest ones gave way");
    assertEquals("1", warmup.get(warmup.size() - 1)[1]);
    assertEquals(rows.size() - 1, log.errors().get(0).get("seq"));
    assertEquals(1, log.errors().get(0).get("thread"));
  }

  @Test
  void aSlotThatIsUsedAgainHasTheStatusOfItsLastCall() throws IOException {
    CallLog log = new CallLog(1, Warmup.fixed(0), 1);
    make(log, 0, log.lead(0, 0), 100, RIGHT);
    log.begin(log.lead(0, CallLog.LEADS_KEPT), 0, 200);
    log.bad(log.lead(0, CallLog.LEADS_KEPT), CallLog.Status.ERROR, "refused");
    Path file = directory.resolve("calls.csv");
    log.write(file, 0);
    assertEquals("error", Files.readAllLines(file).get(1).split(",")[8]);
  }

  @Test
  void anIntendedTimeIsWrittenWhereACallHasOne() throws IOException {
    CallLog log = new CallLog(1, Warmup.fixed(0), 2);
    for (int i = 0; i < 2; i++) {
      log.begin(log.measured(0, i), 0, 100);
      if (i == 0) {
        log.planned(log.measured(0, i), 150);
      }
      log.time(log.measured(0, i), 200, 300);
      log.answer(log.measured(0, i), RIGHT);
    }
    Path file = directory.resolve("calls.csv");
    log.write(file, 50);
    assertEquals(
        List.of("0,0,measure,100,150,100,10,20,ok", "1,0,measure,,150,100,10,20,ok"),
        Files.readAllLines(file).subList(1, 3));
  }

  @Test
  void cooldownCallsThatHaveNoRoomLeaveNoRowAndNoError() throws IOException {
    CallLog log = new CallLog(2, Warmup.fixed(0), 1);
    for (int i = 0; i < 3; i++) {
      make(log, 1, log.cooldown(1, i), 100 + i, RIGHT);
    }
    log.begin(log.cooldown(1, 3), 1, 200);
    log.cutOff(300);
    assertEquals(1, log.cooldownRows());
    assertEquals(List.of(), log.errors());
    Path file = directory.resolve("calls.csv");
    log.write(file, 0);
    assertEquals("0,1,cooldown,,100,7,10,20,ok", Files.readAllLines(file).get(1));
    assertEquals(2, Files.readAllLines(file).size());
  }

  @Test
  void aCallThatIsNeverMadeLeavesNoRow() throws IOException {
    CallLog log = new CallLog(1, Warmup.fixed(0), 2);
    log.begin(log.arrived(0), 0, 100);
    log.planned(log.arrived(0), 900);
    log.leave(0);
    log.cutOff(500);
    assertEquals(0, log.measured());
  }

  @Test
  void theResponseTimeCountsFromWhenACallWasDue() {
    CallLog log = new CallLog(1, Warmup.fixed(0), 3);
    for (int i = 0; i < 3; i++) {
      log.begin(log.arrived(i), 0, 0);
      log.planned(log.arrived(i), 100);
      log.time(log.arrived(i), 100 + 10 * i, 107 + 10 * i);
      log.answer(log.arrived(i), RIGHT);
    }
    assertEquals(17, log.medianResponseNanos());
    assertEquals(7, log.medianNanos());
  }

  private static void make(CallLog log, int thread, int slot, long start, Answer answer) {
    log.begin(slot, thread, start);
    log.time(slot, start, start + 7);
    log.answer(slot, answer);
  }
}
