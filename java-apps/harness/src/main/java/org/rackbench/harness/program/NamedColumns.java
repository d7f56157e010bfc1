package org.rackbench.harness.program;

import java.io.IOException;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;

/**
 * The form {@code csv}: the first line names columns of calls.csv, in any order. {@code start_ns}
 * and {@code elapsed_ns} must be among them.
 */
final class NamedColumns implements Form.Reader {

  private static final String SEQ = "seq";
  private static final int MOST_SEQ = 1 << 28;

  private static final List<String> NEEDED = List.of("start_ns", "elapsed_ns");

  private static final List<String> KNOWN =
      List.of(
          SEQ,
          "thread",
          "phase",
          "intended_ns",
          "start_ns",
          "elapsed_ns",
          "request_bytes",
          "response_bytes",
          "status");

  private static final List<String> PHASES = List.of("measure", "warmup");
  private static final List<String> STATUSES = List.of(Call.OK, "error", "wrong", "timeout");

  @Override
  public Summary read(Path output, CallFile calls) throws IOException, UnreadableOutput {
    try (Lines lines = new Lines(output)) {
      Table table = new Table(lines, NEEDED, "the first line names the columns");
      table.allowOnly(KNOWN);
      BitSet numbers = new BitSet();
      for (Row row = table.next(); row != null; row = table.next()) {
        if (table.has(SEQ)) {
          checkNumber(row, numbers);
        }
        long thread = row.wholeOrNone("thread");
        if (table.has("thread") && (thread == Call.NONE || thread > Integer.MAX_VALUE)) {
          throw new UnreadableOutput(
              "%s has the thread '%s', not a number from 0"
                  .formatted(row.where(), row.text("thread")));
        }
        String status = row.word("status", STATUSES, Call.OK);
        calls.add(
            row.where(),
            new Call(
                row.word("phase", PHASES, PHASES.get(0)).equals(PHASES.get(1)),
                (int) thread,
                row.wholeOrNone("intended_ns"),
                row.whole("start_ns"),
                row.whole("elapsed_ns"),
                row.wholeOrNone("request_bytes"),
                row.wholeOrNone("response_bytes"),
                status,
                status));
      }
    }
    return null;
  }

  /** Refuses a call that stands there twice, as when a program wrote its buffer again. */
  private static void checkNumber(Row row, BitSet numbers) throws UnreadableOutput {
    long seq = row.whole(SEQ);
    if (seq >= MOST_SEQ || numbers.get((int) seq)) {
      throw new UnreadableOutput(
          "%s has the seq %d, which is too large or appears twice".formatted(row.where(), seq));
    }
    numbers.set((int) seq);
  }
}
