package org.rackbench.harness.program;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The records of a file of comma-separated values; a quoted value may span several lines. */
final class CsvRecords {

  private static final int MOST_LINES = 1000;

  private final Lines lines;

  CsvRecords(Lines lines) {
    this.lines = lines;
  }

  /** Returns the values of the next record, or null at the end of the file. */
  List<String> next() throws IOException, UnreadableOutput {
    String line = lines.next();
    if (line == null) {
      return null;
    } else if (line.indexOf('"') < 0) {
      return Arrays.asList(line.split(",", -1));
    }
    List<String> values = new ArrayList<>();
    StringBuilder value = new StringBuilder();
    boolean isQuoted = false;
    for (int more = 0; ; more++) {
      for (int i = 0; i < line.length(); i++) {
        char c = line.charAt(i);
        if (c == '"') {
          boolean isDoubled = isQuoted && i + 1 < line.length() && line.charAt(i + 1) == '"';
          if (isDoubled) {
            value.append(c);
            i++;
          } else {
            isQuoted = !isQuoted;
          }
        } else if (c == ',' && !isQuoted) {
          values.add(value.toString());
          value.setLength(0);
        } else {
          value.append(c);
        }
      }
      if (!isQuoted) {
        values.add(value.toString());
        return values;
      }
      line = lines.next();
      if (line == null || more == MOST_LINES) {
        throw new UnreadableOutput(lines.where() + ": a quoted value does not end");
      }
      value.append('\n');
    }
  }
}
