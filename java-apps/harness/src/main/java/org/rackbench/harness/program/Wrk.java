package org.rackbench.harness.program;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The form {@code wrk}: the output of wrk. Its times include failed calls, so there must be none.
 * The times are those that wrk prints, after its correction for coordinated omission.
 */
final class Wrk implements Form.Reader {

  private static final int MOST_BYTES = 1 << 20;

  private static final String TIME = "([0-9]+(?:\\.[0-9]+)?)(us|ms|s|m|h)";

  private static final Pattern LATENCY =
      Pattern.compile("(?m)^ +Latency +" + TIME + " +" + TIME + " +" + TIME + " ");

  private static final Pattern PERCENTILE =
      Pattern.compile("(?m)^ +(50|99)(?:\\.000)?% +" + TIME + "$");

  private static final Pattern REQUESTS =
      Pattern.compile("(?m)^ +([0-9]{1,18}) requests in " + TIME + ",");

  private static final Pattern RATE =
      Pattern.compile("(?m)^Requests/sec: +([0-9]{1,18}(?:\\.[0-9]+)?)$");

  private static final Pattern BAD =
      Pattern.compile("(?m)^ +(Socket errors: .*[1-9].*|Non-2xx or 3xx responses: [0-9]+)$");

  private static final Map<String, Double> MILLIS =
      Map.of("us", 1e-3, "ms", 1.0, "s", 1e3, "m", 6e4, "h", 3.6e6);

  @Override
  public Summary read(Path output, CallFile calls) throws IOException, UnreadableOutput {
    if (Files.size(output) > MOST_BYTES) {
      throw new UnreadableOutput("it is longer than %d bytes".formatted(MOST_BYTES));
    }
    String printed = new String(Files.readAllBytes(output), StandardCharsets.ISO_8859_1);
    if (!printed.endsWith("\n")) {
      throw UnreadableOutput.cut("its last line");
    }
    Matcher bad = BAD.matcher(printed);
    if (bad.find()) {
      throw new UnreadableOutput(
          "it reports '%s', and the times of wrk include failed calls".formatted(bad.group(1)));
    }
    Matcher latency = found(LATENCY, printed, "Thread Stats");
    Matcher counted = found(REQUESTS, printed, "requests in");
    long requests = Long.parseLong(counted.group(1));
    double seconds = millis(counted.group(2), counted.group(3)) / 1e3;
    // wrk rounds them to two decimals of their unit.
    double rounded = 0.005 * MILLIS.get(counted.group(3)) / 1e3;
    if (counted.find()) {
      throw new UnreadableOutput("it has two results of wrk; let the command print one");
    } else if (seconds > calls.nanos() / 1e9 + 1) {
      throw new UnreadableOutput(
          "wrk ran for %.1f s, but the command for %.1f s".formatted(seconds, calls.nanos() / 1e9));
    }
    double rate = Double.parseDouble(found(RATE, printed, "Requests/sec").group(1));
    if (rate * (seconds + rounded) < 0.99 * requests
        || rate * (seconds - rounded) > 1.01 * requests) {
      throw new UnreadableOutput(
          "%d requests in %.2f s are not %.2f per second; let the command print what wrk prints"
              .formatted(requests, seconds, rate));
    }
    double mean = time(latency, 1, calls);
    if (requests == 0 || rate <= 0 || mean <= 0) {
      throw new UnreadableOutput("no request was answered");
    }
    Double p50 = null;
    Double p99 = null;
    for (Matcher one = PERCENTILE.matcher(printed); one.find(); ) {
      double millis = time(one, 2, calls);
      p50 = one.group(1).equals("50") ? Double.valueOf(millis) : p50;
      p99 = one.group(1).equals("99") ? Double.valueOf(millis) : p99;
    }
    double longest = time(latency, 5, calls);
    return new Summary(requests, mean, p50, p99, longest, rate);
  }

  private static Matcher found(Pattern pattern, String printed, String what)
      throws UnreadableOutput {
    Matcher matcher = pattern.matcher(printed);
    if (!matcher.find()) {
      throw new UnreadableOutput("it has no line of wrk with '%s'".formatted(what));
    }
    return matcher;
  }

  /** Returns a time of calls in milliseconds, which is no longer than the command ran. */
  private static double time(Matcher printed, int group, CallFile calls) throws UnreadableOutput {
    double millis = millis(printed.group(group), printed.group(group + 1));
    if (millis > calls.nanos() / 1e6 + 1e3) {
      throw new UnreadableOutput(
          "a call took %.1f s, but the command ran for %.1f s"
              .formatted(millis / 1e3, calls.nanos() / 1e9));
    }
    return millis;
  }

  private static double millis(String number, String unit) {
    return Double.parseDouble(number) * MILLIS.get(unit);
  }
}
