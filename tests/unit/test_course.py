"""The lab course: its commands exist, its studies plan, its programs run."""

import itertools
import re
import shlex
from pathlib import Path

import pytest
import yaml
from synthetic import make_run

from collect.cli import main
from collect.run.plan import make_plan
from collect.run.study import find_study, load_study, parse_study

ROOT = Path(__file__).parents[2]
COURSE = (ROOT / "docs/course.md").read_text(encoding="utf-8")
INDENTED = [line.strip() for line in COURSE.splitlines() if line.startswith("    ")]
QUOTED = re.findall(r"`((?:collect \w+|make|ansible-playbook) [^`]+)`", COURSE)
PROGRAMS = re.findall(r"```python\n(.*?)```", COURSE, re.DOTALL)


def commands(name):
    """Return the words of each call of a program, from the lines of the course."""
    parts = [p for line in (*INDENTED, *QUOTED) for p in re.split(r";|\||>", line.split("  #")[0])]
    words = [shlex.split(part.removeprefix(" do ")) for part in parts if f"{name} " in part]
    return [w[1:] for w in words if w and w[0].rpartition("/")[2] == name]


def own_profile():
    """Return the sort study with the profile that students add to it."""
    block = re.search(r"\n    slow:\n(?:      .*\n)+", COURSE)
    study = yaml.safe_load((ROOT / "playbooks/studies/sort.yml").read_text(encoding="utf-8"))
    study["profiles"] |= yaml.safe_load(block[0])
    return parse_study(yaml.safe_dump(study), "studies/sort.yml")


@pytest.mark.parametrize("words", commands("collect"), ids=" ".join)
def test_every_collect_command_has_these_options(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # where no run is: what is asked of one ends in a message
    if words[:4] == ["plan", "sort", "--profile", "slow"]:  # students add it
        (tmp_path / "playbooks/studies").mkdir(parents=True)
        text = yaml.safe_dump(dict(own_profile().content))
        (tmp_path / "playbooks/studies/sort.yml").write_text(text)
    code = main(words)
    streams = capsys.readouterr()
    assert code == 0 or re.match(r"collect: .*(no|cannot be) .*", streams.err), streams


def test_every_target_of_make_exists():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = set(itertools.chain.from_iterable(commands("make")))
    assert len(named) > 4
    assert named <= set(targets)


def test_every_sweep_can_be_planned():
    sweeps = commands("ansible-playbook")
    assert len(sweeps) > 9
    for playbook, *options in sweeps:
        assert (ROOT / playbook).is_file()
        given = dict(word.split("=") for word in options if word != "-e")
        assert set(given) == {"study", "profile", "run"}
        own = given["profile"] == "slow"
        study = own_profile() if own else load_study(find_study(given["study"]))
        assert make_plan(study.profile(given["profile"], 5))


@pytest.mark.parametrize(
    "study", sorted((ROOT / "playbooks/studies/teaching").glob("*.yml")), ids=lambda path: path.stem
)
def test_every_profile_of_a_teaching_study_is_planned(study):
    loaded = load_study(study)
    assert loaded.content["study"] == study.stem
    for profile in loaded.content["profiles"]:
        assert make_plan(loaded.profile(profile, 5))
        assert f"teaching/{study.stem} -e profile={profile}" in COURSE


def some_times(planned, rng):
    """Times of a fork with a level of its own."""
    level = rng.lognormal(0, 0.1)
    return (level * rng.lognormal(0, 0.1, planned.calls * planned.threads)).tolist()


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
    (text,) = [text for text in PROGRAMS if program in text and f"results/{run}/" in text]
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
        tables = [words for words in commands("collect") if words[0] == "anova"]
        assert len(tables) == 2
        assert [main(words) for words in tables] == [0, 0]
        assert "Interaction" in capsys.readouterr().out
