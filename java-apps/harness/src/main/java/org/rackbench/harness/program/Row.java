package org.rackbench.harness.program;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * A record whose columns have names.
 *
 * @param where its place in the output, with which messages begin
 * @param places the place of each column
 */
record Row(String where, Map<String, Integer> places, List<String> values) {

  private static final Pattern WHOLE = Pattern.compile("[0-9]{1,19}");

  /** Returns the text of a column, "" if the output has no such column. */
  String text(String column) {
    Integer place = places.get(column);
    return place == null ? "" : values.get(place).strip();
  }

  /** Returns a whole number, which must be present. */
  long whole(String column) throws UnreadableOutput {
    String text = text(column);
    if (!WHOLE.matcher(text).matches()) {
      throw new UnreadableOutput(
          "%s has the %s '%s', not a whole number".formatted(where, column, text));
    }
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw new UnreadableOutput("%s has the %s %s, too large".formatted(where, column, text));
    }
  }

  /** Returns a whole number, or {@link Call#NONE} if there is none. */
  long wholeOrNone(String column) throws UnreadableOutput {
    String text = text(column);
    return text.isEmpty() || text.equals("-1") ? Call.NONE : whole(column);
  }

  /** Returns which of these words a column has, or {@code otherwise} if it is empty. */
  String word(String column, List<String> words, String otherwise) throws UnreadableOutput {
    String text = text(column).toLowerCase(Locale.ROOT);
    if (text.isEmpty() && otherwise != null) {
      return otherwise;
    } else if (!words.contains(text)) {
      throw new UnreadableOutput(
          "%s has the %s '%s', not one of %s"
              .formatted(where, column, text, String.join(", ", words)));
    }
    return text;
  }
}
