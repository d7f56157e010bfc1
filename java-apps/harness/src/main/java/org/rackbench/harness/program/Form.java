package org.rackbench.harness.program;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.rackbench.harness.trial.Arrival;

/** The form of a program's results: single calls, or a summary of them. */
public enum Form {

  /** The CSV log of JMeter. */
  JTL(new Jtl(), "it records when a call was sent, not when it was due"),

  /** Columns of rackbench's own log, named in the first line. */
  CSV(new NamedColumns(), ""),

  /** A log of HdrHistogram, whose values are nanoseconds. */
  HDR(new Hdr(), "it has no single calls"),

  /** The output of wrk. */
  WRK(new Wrk(), "it has no single calls"),

  /** The output of {@code vegeta encode}, JSON or CSV. */
  VEGETA(new Vegeta(), "");

  /** Reads the output of a program. */
  interface Reader {

    /**
     * Passes on each call, or returns a summary of them.
     *
     * @return null if there are single calls
     */
    Summary read(Path output, CallFile calls) throws IOException, UnreadableOutput;
  }

  private final Reader reader;
  private final String notOpen;

  Form(Reader reader, String notOpen) {
    this.reader = reader;
    this.notOpen = notOpen;
  }

  /** Returns the name of this form in a manifest. */
  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }

  static List<String> words() {
    return Arrays.stream(values()).map(Form::word).toList();
  }

  Reader reader() {
    return reader;
  }

  /** Returns why this form gives no response time for such arrivals, or "". */
  public String refusal(Arrival arrival) {
    if (arrival == null) {
      return "";
    }
    return this == VEGETA && arrival.isPoisson()
        ? "vegeta sends at even gaps; write spacing: even"
        : notOpen;
  }
}
