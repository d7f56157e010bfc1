package org.rackbench.harness.program;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** The lines of a file, with a limit on their length, so that none exhausts the heap. */
final class Lines implements Closeable {

  private static final int LONGEST = 4 << 20;

  private static final int NOTHING = -1;

  private final Reader in;
  private final char[] buffer = new char[1 << 16];
  private final StringBuilder line = new StringBuilder();
  private int from;
  private int to;
  private int number;

  Lines(Path file) throws IOException {
    // Not Files.newBufferedReader, which refuses other bytes than UTF-8: a program may print any.
    in = new InputStreamReader(Files.newInputStream(file), StandardCharsets.UTF_8);
  }

  /** Returns the next line without its end, or null; refuses a last line without one. */
  String next() throws IOException, UnreadableOutput {
    line.setLength(0);
    number++;
    int read = read();
    if (read == NOTHING) {
      return null;
    }
    for (; read != NOTHING && read != '\n'; read = read()) {
      if (line.length() == LONGEST) {
        throw new UnreadableOutput("%s is longer than %d characters".formatted(where(), LONGEST));
      }
      line.append((char) read);
    }
    if (read == NOTHING) {
      throw UnreadableOutput.cut(where());
    }
    int end = line.length() - 1;
    return end >= 0 && line.charAt(end) == '\r' ? line.substring(0, end) : line.toString();
  }

  private int read() throws IOException {
    if (from == to) {
      from = 0;
      to = in.read(buffer);
      if (to <= 0) {
        to = 0;
        return NOTHING;
      }
    }
    return buffer[from++];
  }

  /** Returns the name, in messages, of the line that was read last. */
  String where() {
    return "line " + number;
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
