package org.rackbench.harness.program;

import java.io.IOException;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Comma-separated values whose first line names the columns. */
final class Table {

  private final Lines lines;
  private final CsvRecords records;
  private final Map<String, Integer> places = new LinkedHashMap<>();

  /**
   * Reads the names of the columns.
   *
   * @param needed columns that must be present
   * @param hint the next step for the user if one is missing
   */
  Table(Lines lines, List<String> needed, String hint) throws IOException, UnreadableOutput {
    this.lines = lines;
    this.records = new CsvRecords(lines);
    List<String> names = records.next();
    for (String name : names == null ? List.<String>of() : names) {
      if (places.put(name.strip().replace("\uFEFF", ""), places.size()) != null) {
        throw new UnreadableOutput("line 1 has the column %s twice".formatted(name));
      }
    }
    for (String name : needed) {
      if (!places.containsKey(name)) {
        throw new UnreadableOutput(
            "line 1 has no column %s, only %s; %s".formatted(name, places.keySet(), hint));
      }
    }
  }

  /** Refuses any other column. */
  void allowOnly(List<String> known) throws UnreadableOutput {
    HashSet<String> other = new HashSet<>(places.keySet());
    known.forEach(other::remove);
    if (!other.isEmpty()) {
      throw new UnreadableOutput(
          "line 1 has the column %s; the columns are %s"
              .formatted(other.iterator().next(), String.join(", ", known)));
    }
  }

  boolean has(String column) {
    return places.containsKey(column);
  }

  /** Returns the next row, or null at the end of the file. */
  Row next() throws IOException, UnreadableOutput {
    List<String> values = records.next();
    if (values == null) {
      return null;
    } else if (values.size() != places.size()) {
      throw new UnreadableOutput(
          "%s has %d columns, but line 1 has %d; was the command killed while it wrote?"
              .formatted(lines.where(), values.size(), places.size()));
    }
    return new Row(lines.where(), places, values);
  }
}
