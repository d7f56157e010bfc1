package org.rackbench.harness.program;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.rackbench.harness.trial.Arrival;

/** How a program says what it measured: single calls, or a summary of them. */
public enum Form {

  /** The CSV log of JMeter. */
  JTL(new Jtl(), "it says when a call was sent, and not when it was due"),

  /** Columns of this kit's own log, named in the first line. */
  CSV(new NamedColumns(), ""),

  /** A log of HdrHistogram, whose values are nanoseconds. */
  HDR(new Hdr(), "it has no single calls"),

  /** What wrk prints. */
  WRK(new Wrk(), "it has no single calls"),

  /** What {@code vegeta encode} writes, JSON or CSV. */
  VEGETA(new Vegeta(), "");

  /** Reads what a program left. */
  interface Reader {

    /**
     * Hands on each call, or returns a summary of them.
     *
     * @return null when there are single calls
     */
    Summary read(Path output, CallFile calls) throws IOException, UnreadableOutput;
  }

  private final Reader reader;
  private final String notOpen;

  Form(Reader reader, String notOpen) {
    this.reader = reader;
    this.notOpen = notOpen;
  }

  /** Returns the word for it in a manifest. */
  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }

  static List<String> words() {
    return Arrays.stream(values()).map(Form::word).toList();
  }

  Reader reader() {
    return reader;
  }

  /** Returns why no response time can be told from it when calls arrive so, or "". */
  public String refusal(Arrival arrival) {
    if (arrival == null) {
      return "";
    }
    return this == VEGETA && arrival.isPoisson()
        ? "vegeta sends at even gaps; write spacing: even"
        : notOpen;
  }
}
