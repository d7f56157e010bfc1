package org.rackbench.harness.runner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rackbench.harness.trial.Json;

/** The outcomes of trials whose client is a program, by real runner processes and shell scripts. */
class RunnerProgramTest {

  private static final String PROGRAM = "program";

  /** Prints the number of calls in its argument; the second one failed. */
  private static final String CALLS =
      """
      echo thread,start_ns,elapsed_ns,status
      i=0
      while [ $i -lt $1 ]; do
        [ $i = 1 ] && status=error || status=ok
        echo "$i,$(date +%s%N),1000000,$status"
        i=$((i + 1))
      done
      """;

  private static final String WRK =
      """
      cat <<'END'
      Running 1s test @ http://192.0.2.1:8080/byte
        2 threads and 4 connections
        Thread Stats   Avg      Stdev     Max   +/- Stdev
          Latency   635.00us  120.00us   2.50ms   93.69%
          Req/Sec     3.10k   100.00     3.30k    70.00%
        Latency Distribution
           50%  600.00us
           75%  650.00us
           90%  700.00us
           99%    1.20ms
        6300 requests in 1.00s, 1.20MB read
      Requests/sec:   6299.50
      Transfer/sec:      1.20MB
      END
      """;

  @TempDir Path root;
  private Bench bench;

  @BeforeEach
  void makeBench() throws Exception {
    bench = new Bench(root);
  }

  private Path client() throws Exception {
    return Files.createDirectories(root.resolve("clients/" + PROGRAM));
  }

  private void program(String manifest, String script) throws Exception {
    Files.writeString(client().resolve("client.yml"), manifest);
    Files.writeString(client().resolve("run.sh"), script);
  }

  private void plan(String id, Map<String, Object> more) throws Exception {
    Map<String, Object> all = new TreeMap<>(more);
    all.put("client", PROGRAM);
    all.putIfAbsent("constants", Map.of());
    bench.plan(id, "any", all);
  }

  private void plan(String id) throws Exception {
    plan(id, Map.of());
  }

  private void assertOutcome(String id, String outcome, String reason) throws Exception {
    assertEquals(outcome, bench.trial(id).get("outcome"), bench.trial(id).toString());
    String found = bench.trial(id).get("reason").toString();
    assertTrue(found.contains(reason), found);
  }

  @Test
  void callsThatAProgramPrintsAreSealed() throws Exception {
    program("{command: [sh, run.sh, '{calls}'], reads: csv}", CALLS);
    plan("t1");
    plan("t2", Map.of("least_ok", 0.9));
    Bench.Ended runner = bench.runner();
    assertEquals(0, runner.status(), runner.output());
    assertOutcome("t1", "ok", "");
    List<String> calls = bench.calls("t1");
    assertEquals(5, bench.measured("t1").size());
    assertTrue(calls.get(1).matches("0,0,measure,,[0-9]+,1000000,-1,-1,ok"), calls.get(1));
    assertTrue(calls.get(2).endsWith(",error"), calls.get(2));
    Map<String, Object> trial = bench.trial("t1");
    assertEquals(Map.of(), trial.get("jvm"));
    assertNull(trial.get("warmup"));
    assertEquals(1, ((List<?>) trial.get("errors")).size());
    Map<?, ?> program = (Map<?, ?>) trial.get("program");
    assertEquals(List.of("sh", "run.sh", "5"), program.get("command"));
    assertEquals("csv", program.get("reads"));
    assertNull(program.get("summary"));
    try (var files = Files.list(bench.sealed("t1"))) {
      assertEquals(2, files.count(), "calls.csv and trial.json alone");
    }
    assertOutcome("t2", "failed", "4 of 5 measured calls were ok, fewer than least_ok = 0.9");
  }

  @Test
  void numbersReachACommandWithoutAnExponent() throws Exception {
    program(
        "{command: [sh, run.sh, '{calls}', '{a}', '{b}', '{c}', '{d}', '{e}'], reads: csv}", CALLS);
    Map<String, Object> constants =
        Map.of("a", 0.0005, "b", 2e7, "c", -1.5e-5, "d", -1e20, "e", 2.5);
    plan("t1", Map.of("constants", constants));
    assertEquals(0, bench.runner().status());
    Map<?, ?> program = (Map<?, ?>) bench.trial("t1").get("program");
    List<?> words = (List<?>) program.get("command");
    assertEquals(
        List.of("0.0005", "20000000.0", "-0.000015", "-100000000000000000000.0", "2.5"),
        words.subList(3, words.size()));
  }

  @Test
  void theProgramIsToldOfItsTrialInAFile() throws Exception {
    String lab =
        """
        {"schema": 1, "broker": {"name": "broker1", "address": "192.0.2.9"}, "workers": [
         {"name": "worker1", "address": "192.0.2.1", "axis_url": "http://192.0.2.1:8080/axis"},
         {"name": "worker2", "address": "192.0.2.2", "axis_url": "http://192.0.2.2:8080/axis"}]}""";
    Files.writeString(root.resolve("lab.json"), lab);
    program("{command: [sh, run.sh], reads: csv}", "cat \"$1\" >&2\ncat \"$RACKBENCH_PLAN\" >&2\n");
    plan("t1", Map.of("shift", 1, "constants", Map.of("path", "/byte")));
    assertEquals(0, bench.runner().status());
    assertOutcome("t1", "failed", "the command left nothing");
    List<String> log = Files.readAllLines(bench.sealed("t1").resolve("trial.log"));
    assertEquals(log.get(0), log.get(1));
    Map<String, Object> told = Json.parse(log.get(0), "plan");
    assertEquals(Map.of("part", "any"), told.get("factors"));
    assertEquals(Map.of("path", "/byte"), told.get("constants"));
    assertEquals(5, told.get("calls"));
    assertEquals(60, told.get("timeout_s"));
    Map<?, ?> endpoints = (Map<?, ?>) told.get("endpoints");
    assertEquals("http://192.0.2.1:8080/axis", ((Map<?, ?>) endpoints.get("worker1")).get("url"));
    assertEquals("192.0.2.9", ((Map<?, ?>) endpoints.get("broker1")).get("address"));
    Map<?, ?> first = (Map<?, ?>) ((List<?>) told.get("workers")).get(0);
    assertEquals("worker2", first.get("name"), "the list of workers is shifted");
    assertFalse(Files.exists(Path.of(told.get("directory").toString())));
  }

  @Test
  void aSummaryIsSealedWithWhatItWasReadFrom() throws Exception {
    program("{command: [sh, run.sh], reads: wrk}", WRK);
    plan("t1");
    assertEquals(0, bench.runner().status());
    assertOutcome("t1", "ok", "");
    assertEquals(0, bench.trial("t1").get("calls_rows"));
    Map<?, ?> summary = (Map<?, ?>) ((Map<?, ?>) bench.trial("t1").get("program")).get("summary");
    assertEquals(6300, summary.get("calls"));
    assertEquals(0.635, ((Number) summary.get("mean_ms")).doubleValue(), 1e-9);
    assertEquals(0.6, ((Number) summary.get("p50_ms")).doubleValue(), 1e-9);
    assertEquals(1.2, ((Number) summary.get("p99_ms")).doubleValue(), 1e-9);
    assertEquals(6299.5, ((Number) summary.get("calls_per_s")).doubleValue(), 1e-9);
    String text = Files.readString(bench.sealed("t1").resolve("summary.txt"));
    assertTrue(text.startsWith("Running 1s test"), text);
  }

  @Test
  void theFileThatTheCommandWroteComesBeforeWhatItPrinted() throws Exception {
    program(
        "{command: [sh, run.sh, '{calls}', '{output}'], reads: csv}",
        "echo said in passing\n{ " + CALLS + "} > \"$2\"\n");
    plan("t1");
    assertEquals(0, bench.runner().status());
    assertOutcome("t1", "ok", "");
    String log = Files.readString(bench.sealed("t1").resolve("trial.log"));
    assertEquals("said in passing\n", log);
  }

  @ParameterizedTest
  @CsvSource({
    "true, the command left nothing",
    "echo words, 'as csv, which docs/guides/add-a-client.md explains: line 1 has no column start_ns'",
    "'echo start_ns,elapsed_ns', the command made no call that counts",
    "'echo start_ns,elapsed_ns; echo 5,1000', line 2: the call began",
    "'echo start_ns,elapsed_ns; echo $(date +%s%N)', line 2 has 1 columns",
    "'echo start_ns,elapsed_ns; echo $(date +%s%N),soon', elapsed_ns 'soon'",
    "'echo start_ns,elapsed_ns; echo $(date +%s%N),12', the longest call took 12 ns, shorter than",
    "'echo start_ns,elapsed_ns,time; echo 1,2,3', the column time",
    "exit 3, the command ended with status 3",
    "'sleep 1000 & echo start_ns,elapsed_ns', left processes behind",
    "'setsid sleep 1000 & echo start_ns,elapsed_ns', left processes behind",
    "truncate -s 3G $2, the command left more than 2147483647 bytes",
    "'truncate -s 3G $2; sleep 1000', the command left more than 2147483647 bytes and was killed",
    "'echo done; ln -s run.csv $2', the command left a link or a directory as {output}",
    "'mkdir $3; ln -s / $3/root; chmod 0 $3', the command left nothing",
  })
  void whatAProgramDoesWrongIsAnOutcome(String script, String reason) throws Exception {
    program(
        "{command: [sh, run.sh, '{calls}', '{output}', '{directory}/locked'], reads: csv}", script);
    plan("t1");
    Bench.Ended runner = bench.runner();
    assertEquals(0, runner.status(), runner.output());
    assertOutcome("t1", "failed", reason);
    assertEquals(0, bench.trial("t1").get("calls_rows"));
    assertEquals(1, bench.trial("t1").get("attempt"));
    assertNothingRuns("t1");
  }

  @Test
  void aProgramThatHangsIsKilledWithItsChildren() throws Exception {
    program("{command: [sh, run.sh], reads: csv}", "setsid sleep 1000 &\nsleep 1000\n");
    plan("t1", Map.of("timeout_s", 3));
    long begin = System.nanoTime();
    assertEquals(0, bench.runner().status());
    assertTrue(System.nanoTime() - begin < 15e9, "the bound was not kept");
    assertOutcome("t1", "timeout", "not done within timeout_s = 3 s");
    assertNothingRuns("t1");
  }

  @Test
  void aProgramThatFillsTheDiskFailsAndTheRunnerGoesOn() throws Exception {
    program(
        "{command: [sh, run.sh, '{directory}'], reads: csv}",
        "exec cat /dev/zero > \"$1/zeros\"\n");
    assertBothTrialsFailOnDisk("512k", "the command ended with status 1");
  }

  @Test
  void aProgramWhoseMessagesFillTheDiskFailsAndTheRunnerGoesOn() throws Exception {
    program("{command: [sh, run.sh], reads: csv}", "exec cat /dev/zero >&2\n");
    assertBothTrialsFailOnDisk(
        "2m",
        "the client printed over [0-9]+ bytes, and the trial's JVM could not write its result");
  }

  @Test
  void aProgramWhoseOutputFillsTheDiskFailsAndTheRunnerGoesOn() throws Exception {
    program(
        "{command: [sh, run.sh, '{output}'], reads: csv}",
        "echo start_ns,elapsed_ns > \"$1\"\nyes \"$(date +%s%N),100000\" >> \"$1\"\nexit 0\n");
    assertBothTrialsFailOnDisk(
        "2m", "the command left [0-9]+ bytes, and no space to read them: IOException: .*");
  }

  @Test
  void aProgramWhoseFilesLeaveNoSpaceForItsSummaryFails() throws Exception {
    program(
        "{command: [sh, run.sh, '{directory}'], reads: wrk}",
        WRK + "exec 2> \"$1/errors\"\ncat /dev/zero > \"$1/zeros\"\nexit 0\n");
    assertBothTrialsFailOnDisk(
        "2m", "the command left [0-9]+ bytes, and no space to read them: .*");
  }

  /** Plans two trials, and asserts that a runner on a disk of this size seals both as failed. */
  private void assertBothTrialsFailOnDisk(String size, String reason) throws Exception {
    plan("t1");
    plan("t2");
    Path kept = root.resolve("kept");
    Bench.Ended runner = bench.runnerOnDisk(size, kept);
    assertEquals(0, runner.status(), runner.output());
    for (String id : List.of("t1", "t2")) {
      Map<String, Object> trial = Json.read(kept.resolve(id).resolve("trial.json"));
      assertEquals("failed", trial.get("outcome"), trial.toString());
      assertTrue(trial.get("reason").toString().matches(reason), trial.toString());
    }
  }

  @Test
  void aRunnerThatWasKilledGoesOnAndLeavesNothingRunning() throws Exception {
    program(
        "{command: [sh, run.sh, '{calls}'], reads: csv}",
        "[ -e ../../go ] || { touch ../../begun; sleep 1000; }\n" + CALLS);
    plan("t1");
    Process runner = bench.start();
    Bench.await(() -> Files.exists(root.resolve("begun")));
    runner.destroyForcibly().waitFor();
    Files.createFile(root.resolve("go"));
    assertEquals(0, bench.runner().status());
    assertOutcome("t1", "ok", "");
    assertEquals(2, bench.trial("t1").get("attempt"));
    assertNothingRuns("t1");
  }

  @Test
  void aRunnerThatWasKilledLeavesNoProcessWithoutItsEnvironmentRunning() throws Exception {
    program(
        "{command: [sh, run.sh], reads: csv}",
        "env -i sh -c 'echo $$ > ../../child.pid; touch ../../begun; exec sleep 1000'\n:\n");
    plan("t1");
    Process runner = bench.start();
    Bench.await(() -> Files.exists(root.resolve("begun")));
    long pid = Long.parseLong(Files.readString(root.resolve("child.pid")).strip());
    ProcessHandle child = ProcessHandle.of(pid).orElseThrow();
    try {
      runner.destroyForcibly().waitFor();
      Bench.await(() -> !child.isAlive());
    } finally {
      child.destroyForcibly();
    }
  }

  @Test
  void aProgramThatIsKilledFromOutsideIsRepeated() throws Exception {
    program(
        "{command: [sh, run.sh, '{calls}'], reads: csv}",
        "[ -e ../../go ] || { touch ../../go; kill -9 $$; }\n" + CALLS);
    plan("t1");
    assertEquals(0, bench.runner().status());
    assertOutcome("t1", "ok", "");
    assertEquals(2, bench.trial("t1").get("attempt"));
  }

  @Test
  void theCommandOfAKilledJvmEndsBeforeTheNextAttempt() throws Exception {
    program(
        "{command: [sh, run.sh, '{calls}'], reads: csv}",
        "[ -e ../../go ] || { touch ../../go; kill -9 $PPID; exec sleep 1000; }\n" + CALLS);
    plan("t1");
    assertEquals(0, bench.runner().status());
    assertOutcome("t1", "ok", "");
    assertEquals(2, bench.trial("t1").get("attempt"));
    assertNothingRuns("t1");
  }

  @Test
  void aCommandThatEndsAsIfKilledEachTimeFails() throws Exception {
    program("{command: [sh, run.sh, '{calls}'], reads: csv}", "exit 137\n");
    plan("t1");
    assertEquals(0, bench.runner().status());
    assertOutcome("t1", "failed", "SIGKILL ended the client's command or its JVM (status 137)");
    assertEquals(2, bench.trial("t1").get("attempt"));
  }

  @Test
  void callsAtAnotherRateThanThePlansAreNoNumber() throws Exception {
    program(
        "{command: [sh, run.sh], reads: csv}",
        """
        now=$(date +%s%N)
        echo start_ns,elapsed_ns,intended_ns
        for i in 0 1 2 3; do due=$((now + i * 10000000)); echo "$due,1000000,$due"; done
        """);
    Map<String, Object> arrival = Map.of("rate", 100, "spacing", "even", "lead_s", 1);
    plan("t1", Map.of("arrival", arrival));
    plan("t2", Map.of("arrival", Map.of("rate", 50, "spacing", "even", "lead_s", 1)));
    assertEquals(0, bench.runner().status());
    assertOutcome("t1", "ok", "");
    assertTrue(bench.calls("t1").get(2).matches("1,,measure,[0-9]+,[0-9]+,1000000,-1,-1,ok"));
    assertOutcome("t2", "failed", "calls came at 100.0 /s on average, but the plan has 50.00 /s");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[]|is []; write {command:",
        "{command: [sh], reads: csv|client.yml:1: cannot be read (expected ',' or '}'",
        "{command: [sh], reads: csv, reads: jtl}|client.yml:1: cannot be read (found duplicate key",
        "{command: [sh], reads: csv, also: 1}|write {command:",
        "{command: sh, reads: csv}|command is sh, not a list",
        "{command: [], reads: csv}|command is [], not a list",
        "{command: [sh, true], reads: csv}|command has true; write it in quotes",
        "{command: [sh], reads: xml}|reads is xml; write one of jtl, csv, hdr, wrk, vegeta",
        "{command: [../run.sh], reads: csv}|command[0] is '../run.sh', a path out of",
        "{command: [/bin/sh, run.sh], reads: csv}|command[0] is '/bin/sh', a path out of",
        "{command: [./no.sh], reads: csv}|which is not an executable file",
        "{command: [./sub], reads: csv}|which is not an executable file",
        "{command: [no-such-program], reads: csv}|which is not installed on this node",
        "{command: [sh, ../../lab.json], reads: csv}|command[1] is '../../lab.json', a path out of",
        "{command: [sh, a/../../x], reads: csv}|command[1] is 'a/../../x', a path out of",
        "{command: [sh, --file=../x], reads: csv}|command[1] is '--file=../x', a path out of",
        "{command: [sh, -f../x], reads: csv}|command[1] is '-f../x', a path out of",
        "{command: [sh, '-d@../x'], reads: csv}|command[1] is '-d@../x', a path out of",
        "{command: [sh, 'lib/*:../x'], reads: csv}|command[1] is 'lib/*:../x', a path out of",
        "{command: [sh, 'a,../x'], reads: csv}|command[1] is 'a,../x', a path out of",
        "{command: [sh, a=b=../x], reads: csv}|command[1] is 'a=b=../x', a path out of",
        "{command: [sh, -s/etc/passwd], reads: csv}|command[1] is '-s/etc/passwd', a path out of",
        "{command: [sh, 'file:///etc/passwd'], reads: csv}|a path out of",
        "{command: [sh, -flink], reads: csv}|command[1] is '-flink', a path out of",
        "{command: [sh, /etc/passwd], reads: csv}|command[1] is '/etc/passwd', a path out of",
        "{command: [sh, link], reads: csv}|command[1] is 'link', a path out of",
        "{command: ['{part}'], reads: csv}|command[0] is '{part}', but the program",
        "{command: [\"a\\0b\"], reads: csv}|command[0] Nul character not allowed",
        "{command: [sh, '{workers[0].url}'], reads: csv}|names {workers[0].url}, which trial t1",
        "{command: [sh, '{no_such}'], reads: csv}|names {no_such}, which trial t1 does not have",
        "{command: [sh, '{factors}'], reads: csv}|names {factors}, which is more than one value",
      })
  void whatNoTrialCanRunIsSaidBeforeTheFirst(String manifest, String message) throws Exception {
    program(manifest, "");
    Files.createSymbolicLink(client().resolve("link"), root.resolve("lab.json"));
    Files.createDirectory(client().resolve("sub"));
    plan("t1");
    Bench.Ended runner = bench.runner();
    assertEquals(2, runner.status(), runner.output());
    assertTrue(runner.output().contains(message), runner.output());
    assertFalse(Files.exists(bench.sealed("t1")));
  }

  @ParameterizedTest
  @CsvSource({
    "{path}, ../../lab.json, ../../lab.json",
    "{constants.path}, /etc/passwd, /etc/passwd",
    "-f{path}, link, -flink",
    "sub/{path}, ../../x, sub/../../x",
    "'{path},{endpoints.broker1.file}', ../x, '../x,{endpoints.broker1.file}'",
  })
  void aValueThatLeadsOutOfTheDirectoryIsRefusedBeforeTheFirstTrial(
      String word, String path, String refused) throws Exception {
    Files.writeString(
        root.resolve("lab.json"),
        """
        {"schema": 1, "broker": {"name": "broker1", "address": "192.0.2.9", "file": "/etc/passwd"},
         "workers": []}""");
    program("{command: [sh, run.sh, '%s'], reads: csv}".formatted(word), CALLS);
    Files.createSymbolicLink(client().resolve("link"), root.resolve("lab.json"));
    plan("t1", Map.of("constants", Map.of("path", "/byte")));
    Bench.Ended check = bench.check(Map.of());
    assertEquals(0, check.status(), check.output());
    plan("t2", Map.of("constants", Map.of("path", path)));
    check = bench.check(Map.of());
    assertEquals(2, check.status(), check.output());
    String said = "command[2] is '%s', a path out of the client's directory".formatted(refused);
    assertTrue(check.output().contains(said), check.output());
  }

  @ParameterizedTest
  @CsvSource({
    "'#!/bin/sh\r\n', run.sh ends with a carriage return",
    "'#!/usr/bin/env python3\r\n', run.sh ends with a carriage return",
    "'#! /opt/no/such -x\n', 'run.sh is #! /opt/no/such -x, which the runner cannot execute'",
    "'#!/etc\n', 'run.sh is #!/etc, which'",
    "'#!/usr/bin/env no-such-program\n', 'run.sh is #!/usr/bin/env no-such-program, which'",
  })
  void aScriptWhoseInterpreterCannotRunIsRefusedBeforeTheFirstTrial(String line, String message)
      throws Exception {
    for (String script : List.of("./run.sh", "run.sh")) {
      program("{command: [%s], reads: csv}".formatted(script), line);
      assertTrue(client().resolve("run.sh").toFile().setExecutable(true));
      Files.deleteIfExists(bench.run.resolve("plan.jsonl"));
      plan("t1");
      Bench.Ended check = bench.check(Map.of("PATH", client().toString()));
      assertEquals(2, check.status(), check.output());
      assertTrue(check.output().contains(message), check.output());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "#! /bin/sh -e\n",
        "#!/usr/bin/env sh\n",
        "#!/usr/bin/env -S sh\n",
        "#!interpreter\n",
        "#!/bin/sh",
        "#!\n",
        "\0\0",
        ""
      })
  void aProgramWithAnotherBeginningIsAccepted(String line) throws Exception {
    program("{command: [./run.sh], reads: csv}", line);
    assertTrue(client().resolve("run.sh").toFile().setExecutable(true));
    Path interpreter = Files.createFile(client().resolve("interpreter"));
    assertTrue(interpreter.toFile().setExecutable(true));
    plan("t1");
    Bench.Ended check = bench.check(Map.of());
    assertEquals(0, check.status(), check.output());
  }

  @Test
  void wordsThatHoldNoPathOutAreAccepted() throws Exception {
    List<String> words =
        List.of(
            "http://etc/passwd?a=../x,../y:../z",
            "--url=https://u:p@host:8080/../a",
            "name:value",
            "Accept:*/*",
            "1..5,..x",
            "-Jpath=/byte",
            "-n5",
            "-o/dev/null",
            "-",
            "--",
            "",
            "a@b.example",
            "lib/*:sub:./run.sh");
    program(
        "{command: [sh, run.sh, '%s'], reads: csv}".formatted(String.join("', '", words)), CALLS);
    plan("t1");
    Bench.Ended check = bench.check(Map.of());
    assertEquals(0, check.status(), check.output());
  }

  @Test
  void aManifestInAnotherEncodingIsRefused() throws Exception {
    program("", CALLS);
    byte[] manifest =
        "{command: [sh, run.sh], reads: csv} # größer".getBytes(StandardCharsets.ISO_8859_1);
    Files.write(client().resolve("client.yml"), manifest);
    plan("t1");
    Bench.Ended check = bench.check(Map.of());
    assertEquals(2, check.status(), check.output());
    assertTrue(check.output().contains("client.yml: is not in UTF-8; save it"), check.output());
  }

  @Test
  void aProgramThatTheRunnerMayNotExecuteIsNamedWithItsPlace() throws Exception {
    Path real = Files.createFile(root.resolve("tool"));
    Path link =
        Files.createSymbolicLink(Files.createDirectory(root.resolve("bin")).resolve("mine"), real);
    program("{command: [mine], reads: csv}", "");
    plan("t1");
    Bench.Ended check = bench.check(Map.of("PATH", link.getParent().toString()));
    assertEquals(2, check.status(), check.output());
    String said = "command[0] is 'mine', but the runner may not execute %s; install the program";
    assertTrue(check.output().contains(said.formatted(real)), check.output());
  }

  @Test
  void aPlanIsCheckedWithoutATrial() throws Exception {
    program("{command: [sh, run.sh], reads: csv}", CALLS);
    plan("t1");
    Bench.Ended check = bench.check(Map.of());
    assertEquals(0, check.status(), check.output());
    assertEquals("", check.output());
    bench.plan("t3", "any", Map.of("client", "absent"));
    check = bench.check(Map.of());
    assertEquals(2, check.status(), check.output());
    assertTrue(
        check.output().contains("absent: no such client directory (trial t3)"), check.output());
    assertFalse(Files.exists(bench.sealed("t1")));
    assertFalse(Files.exists(bench.lock));
  }

  @Test
  void aServiceThatNoNodeHasIsFoundWithoutATrial() throws Exception {
    Files.writeString(
        root.resolve("lab.json"),
        """
        {"schema": 1, "health_port": 9100, "workers": [
         {"name": "worker1", "address": "192.0.2.1", "services": ["tomcat"]}]}""");
    program("{command: [sh, run.sh], reads: csv}", CALLS);
    plan("t1", Map.of("needs", List.of("tomcat")));
    assertEquals(0, bench.check(Map.of()).status());
    plan("t2", Map.of("needs", List.of("parrot")));
    Bench.Ended check = bench.check(Map.of());
    assertEquals(2, check.status(), check.output());
    assertTrue(check.output().contains("no node has the service parrot"), check.output());
  }

  @ParameterizedTest
  @CsvSource({"wrk, it has no single calls", "jtl, not when it was due", "vegeta, spacing: even"})
  void aFormThatCannotSayWhenCallsWereDueIsRefusedInAnOpenLoop(String form, String message)
      throws Exception {
    program("{command: [sh, run.sh], reads: %s}".formatted(form), "");
    plan("t1", Map.of("arrival", Map.of("rate", 50, "spacing", "poisson", "lead_s", 1)));
    Bench.Ended runner = bench.runner();
    assertEquals(2, runner.status(), runner.output());
    assertTrue(runner.output().contains(message), runner.output());
  }

  @Test
  void aProgramWithTheNameOfAJavaClientIsRefused() throws Exception {
    program("{command: [sh], reads: csv}", "");
    Files.createFile(client().resolve("harness-api-0.1.0.jar"));
    plan("t1");
    Bench.Ended runner = bench.runner();
    assertEquals(2, runner.status(), runner.output());
    assertTrue(
        runner.output().contains("a Java client of rackbench has this name"), runner.output());
  }

  @Test
  void clientsAreLookedForInSeveralDirectoriesAndMayNotBeInTwo() throws Exception {
    program("{command: [sh, run.sh, '{calls}'], reads: csv}", CALLS);
    Path programs = Files.createDirectory(root.resolve("programs"));
    Files.move(client(), programs.resolve(PROGRAM));
    plan("t1");
    bench.plan("t2", "ok");
    String both = root.resolve("clients") + ":" + programs;
    Bench.Ended runner = bench.runner("--clients", both);
    assertEquals(0, runner.status(), runner.output());
    assertOutcome("t1", "ok", "");
    assertOutcome("t2", "ok", "");
    Files.createDirectory(programs.resolve(Bench.CLIENT));
    runner = bench.runner("--clients", both);
    assertEquals(2, runner.status(), runner.output());
    assertTrue(runner.output().contains("are clients of the same name"), runner.output());
  }

  @Test
  void ofATrialThatKeepsPacketsTheReasonIsSealed() throws Exception {
    program("{command: [sh, run.sh, '{calls}'], reads: csv}", CALLS);
    plan("t1", Map.of("captured", true));
    assertEquals(0, bench.runner().status());
    assertOutcome("t1", "failed", "the client is a program");
    Map<?, ?> capture = (Map<?, ?>) bench.trial("t1").get("capture");
    assertTrue(capture.get("missing").toString().contains("the client is a program"));
  }

  /** No process has the mark of an attempt in its environment. */
  private void assertNothingRuns(String id) throws Exception {
    String mark = "RACKBENCH_ATTEMPT=" + bench.run.resolve("work/" + id);
    try (var all = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
      for (Path process : all) {
        String environment;
        try {
          environment = new String(Files.readAllBytes(process.resolve("environ")));
        } catch (java.io.IOException e) {
          continue; // it has ended
        }
        assertFalse(environment.contains(mark), process + " still runs");
      }
    }
  }
}
