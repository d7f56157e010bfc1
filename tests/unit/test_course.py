"""The lab course: every command of it is run, in order, on a lab that is pretended."""

import json
import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import course_lab
import pytest
import yaml
from course_lab import CLIENT, STANDS_FOR, some_times
from machine import wait_for
from synthetic import make_run

from collect.cli import main
from collect.run.plan import make_plan
from collect.run.study import load_study, parse_study

ROOT = Path(__file__).parents[2]
COURSE = next(ROOT.glob("docs/**/course.md")).read_text(encoding="utf-8")
SHELL = re.compile(r"(?:^    .*\n(?:\n(?=    ))?)+", re.MULTILINE)
PROGRAM = re.compile(r"(?s)```python\n(.*?)```")
WITHOUT_LAB = ("## Without a lab", "### 2.", "### 4.", "### 5.", "### 10.", "### 11.", "### 12.")
"""How the headings of what needs no lab begin."""
UNITS = {
    *re.findall(r"rackbench-[a-z-]+", (ROOT / "playbooks/vars/bench.yml").read_text()),
    "rackbench-tomcat",
    "rackbench-broker",
}
MAY_FIND = {"check", "report", "compare"}
"""Commands whose exit code 1 means findings: of a torn log, of a run that is not complete."""


def blocks(course=COURSE):
    """Yield each block of commands, and each program as the command that runs it, in order."""
    for number, part in enumerate(PROGRAM.split(course)):
        if number % 2:
            yield f"cat > block.py <<'END'\n{part}\nEND\npython block.py\n"
            continue
        for block in SHELL.findall(part):
            text = re.sub(r"^    ", "", block, flags=re.M)
            if not re.match(r"\w+:\n", text):  # YAML for a study file
                yield text


def own_profile():
    """Return the sort study with the profile that students add to it."""
    block = re.search(r"\n    slow:\n(?:      .*\n)+", COURSE)
    study = yaml.safe_load((ROOT / "playbooks/studies/sort.yml").read_text(encoding="utf-8"))
    study["profiles"] |= yaml.safe_load(block[0])
    return study


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    """Walk through the course: return how it ended, and what was logged of its calls."""
    return walked(tmp_path_factory.mktemp("course"), "\n".join(blocks()))


def walked(place, commands):
    logs = {name: place / name.lower() for name in ("FAULTS", "CODES", "REMOTE")}
    for log in logs.values():
        log.touch()
    work = place / "work"
    environment = {
        **os.environ,
        **{name: str(path) for name, path in logs.items()},
        "PATH": f"{stand_ins(place, work)}:{os.environ['PATH']}",
        "PYTHON": sys.executable,
        "PYTHONPATH": f"{ROOT}:{ROOT / 'tests/unit'}",
        "LAB": str(place / "client.py"),
        "SERVER": str(place / "server"),
        "ROOT": str(ROOT),
    }
    server = subprocess.Popen(
        [sys.executable, course_lab.__file__, place / "server"], env=environment
    )
    try:
        wait_for((place / "server").exists, "the server is up", 120)
        done = subprocess.run(
            ["bash", "-u", "-c", commands],
            cwd=work,
            env=environment,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
    finally:
        server.kill()
        server.wait()
    return done, {name: path.read_text() for name, path in logs.items()}


def stand_ins(place, work):
    """Make the programs and what a student's directory has; return where the programs are."""
    programs = place / "programs"
    programs.mkdir()
    (place / "client.py").write_text(CLIENT)
    for name, text in STANDS_FOR.items():
        (programs / name).write_text(f"#!/bin/bash\n{text}\n")
        (programs / name).chmod(0o755)
    (work / ".venv/bin").mkdir(parents=True)
    (work / ".venv/bin/activate").touch()
    (work / ".venv/bin/collect").symlink_to(programs / "collect")
    for path in (ROOT / "playbooks/studies").rglob("*.yml"):
        copy = work / path.relative_to(ROOT)
        copy.parent.mkdir(exist_ok=True, parents=True)
        copy.write_text(path.read_text())
    (work / "playbooks/studies/sort.yml").write_text(yaml.safe_dump(own_profile(), sort_keys=False))
    make_run(work / "results/demo-sort", some_times, study="sort")
    return programs


def test_every_command_is_known(walk):
    done, logs = walk
    assert logs["FAULTS"] == ""
    for wrong in ("command not found", "No such file", "unbound variable", "Traceback", "syntax"):
        assert wrong not in done.stderr, done.stderr[-3000:]


def test_every_collect_command_works(walk):
    done, logs = walk
    codes = [line.split() for line in logs["CODES"].splitlines()]
    assert len(codes) > 17
    bad = [words for words in codes if words[0] not in ("0", "1")]
    assert not bad, (bad, done.stderr[-3000:])
    assert {words[1] for words in codes if words[0] == "1"} <= MAY_FIND
    assert ["1", "check", "torn"] in codes
    assert ["1", "report", "torn"] in codes


def test_the_analysis_half_works_from_sample_runs(tmp_path):
    sections = re.split(r"^(?=##+ )", COURSE, flags=re.M)
    chosen = "".join(part for part in sections if part.startswith(WITHOUT_LAB))
    commands = "\n".join(blocks(re.sub(r"^    ansible-playbook .*\n", "", chosen, flags=re.M)))
    done, logs = walked(tmp_path, commands)
    codes = [line.split() for line in logs["CODES"].splitlines()]
    assert [words[1] for words in codes if words[0] != "0"] == ["check", "report"], done.stderr
    assert {words[1] for words in codes} == {"report", "check", "power", "export", "plan"}
    assert "No such file" not in done.stderr
    assert "Traceback" not in done.stderr
    assert "pairs:" in done.stdout
    assert "under_way" in done.stdout
    report = (tmp_path / "work/results/monday/report.html").read_text()
    assert "run sample-sort" in report or "monday" in report


def test_what_the_samples_lack_is_named():
    def cells(study):
        """Return the cells of a sample, each as its levels."""
        with zipfile.ZipFile(ROOT / f"collect/samples/sample-{study}.zip") as sample:
            lines = sample.read(f"runs/sample-{study}/plan.jsonl").splitlines()
        found = {tuple(json.loads(line)["factors"].items()) for line in lines}
        return [dict(cell) for cell in found]

    text = " ".join(COURSE.split())
    sort, overhead, binding = map(cells, ("sort", "overhead", "binding"))
    assert (len(sort), len(overhead), len(binding)) == (4, 8, 4)
    assert {cell["integers"] for cell in sort} == {5000}
    assert "- `monday` (`sort`) has four cells, all with 5000 integers: omit the" in text
    demo = cells_of(load_study(ROOT / "playbooks/studies/overhead.yml").profile("demo", 5))
    assert {tuple(cell.items()) for cell in overhead} == demo
    assert "`same1` (`overhead`) has the eight cells of the profile `demo`" in text
    assert {cell["concurrency"] for cell in binding} == {30}
    assert "- `crowd` (`binding`) has four cells, all with 30 threads. In section 12 skip" in text
    assert "Skip each line with `ansible-playbook`" in text


def test_what_is_done_on_nodes_names_their_units(walk):
    _, logs = walk
    named = set(re.findall(r"rackbench-[a-z][a-z-]*[a-z]", logs["REMOTE"]))
    assert {"rackbench-tomcat", "rackbench-broker", "rackbench-sort-worker"} <= named
    roles = subprocess.run(
        [
            "git",
            "-C",
            ROOT,
            "grep",
            "-hoE",
            r"rackbench-[a-z-]+",
            "--",
            "roles",
            "playbooks",
            "java-apps",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    programs = re.findall(r"\b[a-z]+-worker\b", (ROOT / "playbooks/vars/bench.yml").read_text())
    assert named <= {*roles, *(f"rackbench-{name}" for name in programs)}


def test_every_quoted_command_has_these_options(tmp_path, monkeypatch, capsys):
    quoted = re.findall(r"`collect (\w+ [^`]+)`", COURSE)
    assert quoted
    monkeypatch.chdir(tmp_path)  # where no run is: what is asked of one ends in a message
    (tmp_path / "playbooks/studies").mkdir(parents=True)
    text = yaml.safe_dump(own_profile())
    (tmp_path / "playbooks/studies/sort.yml").write_text(text)
    for command in quoted:
        code = main(shlex.split(command.replace("…", "x")))
        streams = capsys.readouterr()
        assert code == 0 or re.match(r"collect: .*(no|cannot be) .*", streams.err), (
            command,
            streams,
        )


def cells_of(profile):
    """Return the cells of a profile, each as its levels."""
    return {tuple(dict(trial.factors).items()) for trial in make_plan(profile)}


def calls_of(profile):
    """Return the measured calls and the warm-up of each cell of a profile."""
    plan = make_plan(profile)
    return {tuple(dict(one.factors).items()): (one.calls, one.warmup) for one in plan}


def test_a_session_takes_two_hours():
    sessions = re.split(r"^## Session ", COURSE, flags=re.M)[1:]
    assert len(sessions) == 4
    for session in sessions:
        minutes = [int(found) for found in re.findall(r"^### .*\((\d+) minutes", session, re.M)]
        assert 90 <= sum(minutes) <= 120, session[:30]


def test_the_numbers_of_cells_and_intervals_are_those_of_the_studies():
    study = parse_study(yaml.safe_dump(own_profile()), "studies/sort.yml")
    slow, demo = (cells_of(study.profile(name, 5)) for name in ("slow", "demo"))
    assert slow < demo
    assert f"its {len(slow)} cells are among the {len(demo)} of `demo`" in COURSE
    calls = [calls_of(study.profile(name, 5)) for name in ("slow", "demo")]
    assert calls[0].items() <= calls[1].items(), "more than the rate differs"
    overhead = load_study(ROOT / "playbooks/studies/overhead.yml").profile("demo", 5)
    cells = len(cells_of(overhead))
    assert f"in {cells} cells. How many of these {3 * cells} intervals" in COURSE


def test_what_students_predict_is_measured_in_the_demo():
    study = load_study(ROOT / "playbooks/studies/sort.yml").profile("demo", 5)
    cells = {(levels["servers"], levels["integers"]) for levels in map(dict, cells_of(study))}
    assert {(1, 500), (1, 5000), (5, 5000)} <= cells
    assert (5, 500) not in cells, "then students may predict it too"


@pytest.mark.parametrize(
    "study", sorted((ROOT / "playbooks/studies/teaching").glob("*.yml")), ids=lambda path: path.stem
)
def test_every_profile_of_a_teaching_study_is_planned(study):
    loaded = load_study(study)
    assert loaded.content["study"] == study.stem
    for profile in loaded.content["profiles"]:
        assert make_plan(loaded.profile(profile, 5))
        assert f"teaching/{study.stem} -e profile={profile}" in COURSE


EXPORTS = {
    "calls": ("same1", "overhead", "--format parquet"),
    "under_way": ("crowd", "binding", "--format parquet"),
    "signs": (
        "connections",
        "teaching/connections",
        "--format trials -o results/connections/trials.csv",
    ),
}


@pytest.mark.parametrize("program", EXPORTS)
def test_a_program_of_the_course_runs(program, tmp_path, monkeypatch, capsys):
    run, study, options = EXPORTS[program]
    (text,) = [
        text for text in PROGRAM.findall(COURSE) if program in text and f"results/{run}/" in text
    ]
    plan = make_run(tmp_path / "results" / run, some_times, study=study)
    monkeypatch.chdir(tmp_path)
    assert f"collect export {run} {options}" in COURSE
    assert main(["export", run, *options.split()]) == 0
    capsys.readouterr()
    exec(compile(text, program, "exec"), {"__name__": "__main__"})  # noqa: S102 - our own text
    printed = capsys.readouterr().out
    assert printed.count("\n") >= 1
    if program == "calls":
        pairs, differ, dealt = map(int, re.findall(r"\d+", printed))
        assert differ > 4 * dealt
        assert pairs == len(plan), "three blocks are three pairs of forks a cell"
    if program == "signs":
        tables = [
            shlex.split(line) for line in re.findall(r"^    collect (anova .*)$", COURSE, re.M)
        ]
        assert len(tables) == 2
        assert [main(words) for words in tables] == [0, 0]
        assert "Interaction" in capsys.readouterr().out
