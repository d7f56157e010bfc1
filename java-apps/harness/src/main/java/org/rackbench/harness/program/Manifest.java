package org.rackbench.harness.program;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.rackbench.harness.trial.BadInput;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;

/**
 * The manifest {@code client.yml}, which makes a directory a client.
 *
 * @param directory the manifest's directory, in which the command runs
 * @param command the program and its arguments, as in the manifest
 * @param form the form of the command's results
 */
public record Manifest(Path directory, List<String> command, Form form) {

  private static final String FILE = "client.yml";

  private static final String HOW = "{command: [PROGRAM, ARGUMENT, ...], reads: FORM}";

  /** The file that the directory of each Java client has. */
  private static final String JAR_OF_THE_KIT = "harness-api-*.jar";

  /** Characters before a path within a word, as in {@code --file=A}, {@code -d@A}, {@code A:B}. */
  private static final Pattern SEPARATORS = Pattern.compile("[=:,@]");

  /** An option before its value in the same word, as in {@code -fA}. */
  private static final Pattern OPTION = Pattern.compile("^-[A-Za-z0-9]");

  /** The system reads no more of a script to find its interpreter. */
  private static final int MOST_FIRST_LINE = 256;

  private static final Pattern PLAIN_NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9.+-]*");

  private static final Pattern LINE_END = Pattern.compile("[\n\0]");

  /** What looks like a path in a URL is one of a server. */
  private static final Pattern URL = Pattern.compile("https?://.*");

  /** Arguments may name files of the system in these directories: they are not data. */
  private static final List<Path> OF_THE_KERNEL = List.of(Path.of("/dev"), Path.of("/proc"));

  /** Returns whether a client's directory has a manifest. */
  public static boolean isIn(Path directory) {
    return Files.exists(directory.resolve(FILE));
  }

  /** Reads the manifest of a directory; throws {@link BadInput} if it does not define a command. */
  public static Manifest read(Path directory) throws IOException {
    Path file = directory.resolve(FILE);
    try (DirectoryStream<Path> jars = Files.newDirectoryStream(directory, JAR_OF_THE_KIT)) {
      if (jars.iterator().hasNext()) {
        throw new BadInput(
            "%s: a Java client of rackbench has this name too; give the program another one"
                .formatted(file));
      }
    }
    Object content;
    try {
      content = new Load(LoadSettings.builder().build()).loadFromString(Files.readString(file));
    } catch (CharacterCodingException e) {
      throw new BadInput("%s: is not in UTF-8; save it in that encoding".formatted(file));
    } catch (MarkedYamlEngineException e) {
      int line = e.getProblemMark().map(mark -> mark.getLine() + 1).orElse(1);
      throw new BadInput(
          "%s:%d: cannot be read (%s); write %s".formatted(file, line, e.getProblem(), HOW));
    } catch (YamlEngineException e) {
      throw new BadInput(
          "%s: cannot be read (%s); write %s"
              .formatted(file, String.valueOf(e.getMessage()).lines().findFirst().orElse(""), HOW));
    }
    if (!(content instanceof Map<?, ?> keys) || !keys.keySet().equals(Set.of("command", "reads"))) {
      throw new BadInput("%s: is %s; write %s".formatted(file, content, HOW));
    }
    Manifest manifest =
        new Manifest(
            directory.toRealPath(),
            words(file, keys.get("command")),
            form(file, keys.get("reads")));
    manifest.checkProgram(file);
    manifest.checkArguments(file);
    return manifest;
  }

  /** Checks the words of a trial as those of the manifest, because their values may be paths. */
  void check(List<String> words) throws IOException {
    new Manifest(directory, words, form).checkArguments(directory.resolve(FILE));
  }

  private static List<String> words(Path file, Object command) {
    List<String> words = new ArrayList<>();
    for (Object word : command instanceof List<?> list ? list : List.of()) {
      if (word instanceof String || word instanceof Integer || word instanceof Long) {
        words.add(word.toString());
      } else {
        throw new BadInput("%s: command has %s; write it in quotes".formatted(file, word));
      }
    }
    if (words.isEmpty() || words.get(0).isBlank()) {
      throw new BadInput(
          "%s: command is %s, not a list of a program and its arguments; write %s"
              .formatted(file, command, HOW));
    }
    return List.copyOf(words);
  }

  private static Form form(Path file, Object word) {
    for (Form form : Form.values()) {
      if (form.word().equals(word)) {
        return form;
      }
    }
    throw new BadInput(
        "%s: reads is %s; write one of %s".formatted(file, word, String.join(", ", Form.words())));
  }

  /** Checks that the program exists: in the client's directory, or on the node's path. */
  private void checkProgram(Path file) throws IOException {
    String program = command.get(0);
    Path there = path(file, 0);
    if (program.contains("{")) {
      throw new BadInput(
          "%s: command[0] is '%s', but the program itself may not name a value; make a client for"
                  .formatted(file, program)
              + " each program");
    } else if (program.contains("/")) {
      if (there.isAbsolute() || isOutside(there)) {
        throw outside(file, 0, "write the bare name of a program of the system");
      } else if (!isProgram(directory.resolve(there))) {
        throw new BadInput(
            "%s: command[0] is '%s', which is not an executable file".formatted(file, program));
      }
      checkLink(file, 0, there);
      checkInterpreter(file, directory.resolve(there).normalize());
      return;
    }
    List<Path> found = onPath(program);
    Optional<Path> first = found.stream().filter(Files::isExecutable).findFirst();
    if (first.isPresent()) {
      checkInterpreter(file, first.get());
      return;
    } else if (!found.isEmpty()) {
      throw new BadInput(
          "%s: command[0] is '%s', but the runner may not execute %s; install the program itself"
                  .formatted(file, program, found.get(0).toRealPath())
              + " below /usr/bin or /usr/local, or next to the manifest and write ./%s"
                  .formatted(program));
    }
    throw new BadInput(
        "%s: command[0] is '%s', which is not installed on this node; add its package to"
                .formatted(file, program)
            + " bench_client_packages and run site.yml, or write ./%s if it is next to the manifest"
                .formatted(program));
  }

  /** Returns the files of this name in the directories of the node's path. */
  private static List<Path> onPath(String name) {
    return Arrays.stream(System.getenv().getOrDefault("PATH", "").split(":"))
        .filter(place -> !place.isEmpty())
        .map(place -> Path.of(place, name))
        .filter(Files::isRegularFile)
        .toList();
  }

  private static boolean isProgram(Path file) {
    return Files.isRegularFile(file) && Files.isExecutable(file);
  }

  /** Checks that this node can run the interpreter that the first line of a script names. */
  private void checkInterpreter(Path file, Path program) throws IOException {
    String line;
    try (InputStream in = Files.newInputStream(program)) {
      String begin = new String(in.readNBytes(MOST_FIRST_LINE), StandardCharsets.ISO_8859_1);
      line = LINE_END.split(begin, 2)[0];
    }
    String[] named = line.substring(Math.min(2, line.length())).strip().split("[ \t]+");
    if (!line.startsWith("#!") || named[0].isEmpty()) {
      return;
    } else if (line.endsWith("\r")) {
      throw new BadInput(
          "%s: the first line of %s ends with a carriage return, which the system takes for a part"
                  .formatted(file, program)
              + " of it; end its lines with line feeds alone");
    } else if (!isProgram(directory.resolve(named[0])) || lacksItsProgram(named)) {
      throw new BadInput(
          "%s: the first line of %s is %s, which the runner cannot execute; install that program"
                  .formatted(file, program, line)
              + " below /usr/bin or /usr/local, for example by bench_client_packages");
    }
  }

  /** Returns whether the words of a first line have {@code env} find a program that is missing. */
  private static boolean lacksItsProgram(String... named) {
    return named.length == 2
        && named[0].endsWith("/env")
        && PLAIN_NAME.matcher(named[1]).matches()
        && onPath(named[1]).stream().noneMatch(Files::isExecutable);
  }

  /** Checks that no argument and no part of one leads out of the directory. */
  private void checkArguments(Path file) throws IOException {
    for (int i = 1; i < command.size(); i++) {
      checkArgument(file, i);
    }
  }

  private void checkArgument(Path file, int place) throws IOException {
    path(file, place); // refuses a word that can be no path
    String word = URL.matcher(command.get(place)).replaceFirst("");
    String afterOption = OPTION.matcher(word).replaceFirst("");
    List<String> parts = new ArrayList<>(List.of(word, afterOption));
    parts.add(word.substring(word.indexOf('=') + 1));
    SEPARATORS.splitAsStream(word).forEach(parts::add);
    SEPARATORS.splitAsStream(afterOption).forEach(parts::add);
    for (String part : parts) {
      Path one = Path.of(part);
      if (isOutside(one)) {
        throw outside(file, place, "put the file into the client's directory");
      } else if (one.isAbsolute()) {
        boolean isOfTheKernel = OF_THE_KERNEL.stream().anyMatch(one::startsWith);
        if (Files.isRegularFile(one) && !isOfTheKernel && !one.startsWith(directory)) {
          throw outside(file, place, "put the file into the client's directory");
        }
      } else {
        checkLink(file, place, one);
      }
    }
  }

  private Path path(Path file, int place) {
    try {
      return Path.of(command.get(place));
    } catch (InvalidPathException e) {
      throw new BadInput("%s: command[%d] %s".formatted(file, place, e.getMessage()));
    }
  }

  private static boolean isOutside(Path path) {
    return !path.isAbsolute() && path.normalize().startsWith("..");
  }

  private void checkLink(Path file, int place, Path path) throws IOException {
    Path there = directory.resolve(path);
    if (Files.exists(there) && !there.toRealPath().startsWith(directory)) {
      throw outside(file, place, "put the file itself into the client's directory");
    }
  }

  private BadInput outside(Path file, int place, String instead) {
    return new BadInput(
        "%s: command[%d] is '%s', a path out of the client's directory; %s"
            .formatted(file, place, command.get(place), instead));
  }
}
