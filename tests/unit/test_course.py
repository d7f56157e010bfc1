"""The lab course: every command of it is run, in order, on a lab that is pretended."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from synthetic import make_run

from collect.cli import main
from collect.run.plan import make_plan
from collect.run.study import load_study, parse_study

ROOT = Path(__file__).parents[2]
COURSE = next(ROOT.glob("docs/**/course.md")).read_text(encoding="utf-8")
SHELL = re.compile(r"(?:^    .*\n(?:\n(?=    ))?)+", re.MULTILINE)
PARTS = re.split(r"(?s)```python\n(.*?)```", COURSE)
"""Text and programs in turn."""
UNITS = {
    *re.findall(r"rackbench-[a-z-]+", (ROOT / "playbooks/vars/bench.yml").read_text()),
    "rackbench-tomcat",
    "rackbench-broker",
}
MAY_FIND = {"check", "report", "compare"}
"""Commands whose exit code 1 means findings: of a torn log, of a run that is not complete."""

# What stands for the lab. Each logs how it was called; a call that would not work there is a fault.
STANDS_FOR = {
    "ansible-playbook": 'exec "$PYTHON" "$TESTS/test_course.py" sweep "$@"',
    "make": 'for t in "$@"; do grep -q "^$t:" "$ROOT/Makefile" || echo "make $t" >> "$FAULTS"; done',
    "collect": """
words=(); for w in "$@"; do [ "$w" = --watch ] || words+=("$w"); done
"$PYTHON" -m collect "${words[@]}"; code=$?; echo "$code $*" >> "$CODES"; exit $code""",
    "python": 'exec "$PYTHON" "$@"',
    "python3": 'exec "$PYTHON" "$@"',
    "pip": '[ "$1" = install ] || echo "pip $*" >> "$FAULTS"',
    "sleep": '[ "$1" != 1 ]',  # an endless loop ends at once
    "ssh": 'echo "$*" >> "$REMOTE"; echo "sort.pool1 1 2 3 4 5 20"',
    "systemctl": 'echo "here $*" >> "$REMOTE"',
}


def blocks():
    """Yield each block of commands, and each program as the command that runs it, in order."""
    for number, part in enumerate(PARTS):
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


def some_times(planned, rng):
    """Times of a fork with a level of its own."""
    level = rng.lognormal(0, 0.1)
    return (level * rng.lognormal(0, 0.1, planned.calls * planned.threads)).tolist()


def pretended_sweep(playbook, *options):
    """Leave what a sweep would: a run made up; refuse what the playbook would refuse."""
    given = dict(word.split("=", 1) for word in options if word != "-e")
    assert (ROOT / playbook).is_file(), playbook
    assert set(given) == {"study", "profile", "run"}, given
    study = Path("playbooks/studies", given["study"] + ".yml")
    shutil.rmtree(Path("results", given["run"]), ignore_errors=True)  # a sample of that name
    make_run(Path("results", given["run"]), some_times, study=study.read_text(), profile=given["profile"])


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    """Walk through the course: return its output, and the files in which calls were logged."""
    place = tmp_path_factory.mktemp("course")
    logs = {name: place / name.lower() for name in ("FAULTS", "CODES", "REMOTE")}
    for log in logs.values():
        log.touch()
    programs = place / "programs"
    programs.mkdir()
    for name, text in STANDS_FOR.items():
        (programs / name).write_text(f"#!/bin/bash\n{text}\n")
        (programs / name).chmod(0o755)
    work = place / "work"
    (work / ".venv/bin").mkdir(parents=True)
    (work / ".venv/bin/activate").touch()
    (work / ".venv/bin/collect").symlink_to(programs / "collect")
    (work / "playbooks").mkdir()
    (work / "playbooks/studies").mkdir()
    for path in (ROOT / "playbooks/studies").rglob("*.yml"):
        copy = work / path.relative_to(ROOT)
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(path.read_text())
    (work / "playbooks/studies/sort.yml").write_text(yaml.safe_dump(own_profile(), sort_keys=False))
    make_run(work / "results/demo-sort", some_times, study="sort")
    text = "\n".join(blocks())
    environment = {
        **os.environ,
        **{name: str(path) for name, path in logs.items()},
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHON": sys.executable,
        "PYTHONPATH": f"{ROOT}:{ROOT / 'tests/unit'}",
        "TESTS": str(ROOT / "tests/unit"),
        "ROOT": str(ROOT),
    }
    done = subprocess.run(
        ["bash", "-u", "-c", text],
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    return done, {name: path.read_text() for name, path in logs.items()}


def test_every_command_is_known(walk):
    done, logs = walk
    assert logs["FAULTS"] == ""
    for wrong in ("command not found", "No such file", "unbound variable", "Traceback", "syntax"):
        assert wrong not in done.stderr, done.stderr[-3000:]


def test_every_collect_command_works(walk):
    done, logs = walk
    codes = [line.split() for line in logs["CODES"].splitlines()]
    assert len(codes) > 25
    bad = [words for words in codes if words[0] not in ("0", "1")]
    assert not bad, (bad, done.stderr[-3000:])
    assert {words[1] for words in codes if words[0] == "1"} <= MAY_FIND
    assert ["1", "check", "torn"] in codes
    assert ["0", "check", "monday"] in [words[:3] for words in codes] or "check monday" in COURSE


def test_what_is_done_on_nodes_names_their_units(walk):
    _, logs = walk
    named = set(re.findall(r"rackbench-[a-z][a-z-]*[a-z]", logs["REMOTE"]))
    assert {"rackbench-tomcat", "rackbench-broker", "rackbench-sort-worker"} <= named
    roles = subprocess.run(
        ["git", "-C", ROOT, "grep", "-hoE", r"rackbench-[a-z-]+", "--", "roles", "playbooks", "java-apps"],
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
        assert code == 0 or re.match(r"collect: .*(no|cannot be) .*", streams.err), (command, streams)


def test_a_session_takes_two_hours():
    sessions = re.split(r"^## Session ", COURSE, flags=re.M)[1:]
    assert len(sessions) == 4
    for session in sessions:
        minutes = [int(found) for found in re.findall(r"^### .*\((\d+) minutes", session, re.M)]
        assert 90 <= sum(minutes) <= 120, session[:30]


def test_the_numbers_of_cells_and_intervals_are_those_of_the_studies():
    study = parse_study(yaml.safe_dump(own_profile()), "studies/sort.yml")
    slow, demo = ({trial.cell for trial in make_plan(study.profile(name, 5))} for name in ("slow", "demo"))
    assert slow < demo
    assert f"its {len(slow)} cells are among the {len(demo)} of `demo`" in COURSE
    overhead = load_study(ROOT / "playbooks/studies/overhead.yml").profile("demo", 5)
    cells = len({trial.cell for trial in make_plan(overhead)})
    assert f"in {cells} cells. How many of these {3 * cells} intervals" in COURSE


def test_what_students_predict_is_measured_in_the_demo():
    study = load_study(ROOT / "playbooks/studies/sort.yml").profile("demo", 5)
    cells = {
        (levels["servers"], levels["integers"])
        for levels in (dict(trial.factors) for trial in make_plan(study))
    }
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
    (text,) = [text for text in PARTS[1::2] if program in text and f"results/{run}/" in text]
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
            shlex.split(line)
            for line in re.findall(r"^    collect (anova .*)$", COURSE, re.M)
        ]
        assert len(tables) == 2
        assert [main(words) for words in tables] == [0, 0]
        assert "Interaction" in capsys.readouterr().out


if __name__ == "__main__":
    pretended_sweep(*sys.argv[2:])
