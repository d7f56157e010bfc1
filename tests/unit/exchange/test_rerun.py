"""An archived run measured again: what is planned, what differs, what is called."""

import hashlib
import json
import shutil
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from made_up_studies import changed
from synthetic import edit_json, make_run

from collect.cli import main
from collect.errors import InputError
from collect.exchange.archive import rerun
from collect.exchange.archive.manifest import kit_version
from collect.run.directory import open_run
from collect.run.fields import Fields
from collect.run.plan import plan_bytes

STUDY = changed(
    factors={"transport": ["soap", "jms"], "servers": [1, 3]},
    domains={},
    clients="any",
    needs=[],
    servers="servers",
    profiles={"demo": {"replicates": 3, "calls": 4, "warmup": 1}},
)
# Stands for Ansible: says what the lab is, and seals what was planned as the sweep would.
ANSIBLE = """\
#!{python}
import json, os, sys
from pathlib import Path
if os.environ.get("LC_ALL") != "C.UTF-8":
    sys.exit("unsupported locale setting")
if os.environ.get("ANSIBLE_CONFIG") != os.path.abspath("ansible.cfg"):
    sys.exit("no configuration from a directory that everybody may write to")
given = dict(one.split("=", 1) for flag, one in zip(sys.argv, sys.argv[1:]) if flag == "-e")
with Path({log!r}).open("a") as log:
    print(json.dumps(sys.argv[1:]), file=log)
if "--list" in sys.argv:
    print(json.dumps({{"workers": {{"children": ["rack"]}}, "rack": {{"hosts": {workers!r}}}}}))
elif "playbooks/describe.yml" in sys.argv:
    if not Path({lab!r}).exists():
        sys.exit(4)
    Path(given["describe_to"]).write_text(Path({lab!r}).read_text())
else:
    sys.path.insert(0, {tests!r})
    from synthetic import make_run
    text = Path("playbooks/studies", given["study"] + ".yml").read_text()
    make_run(
        Path("results", given["run"]), lambda planned, rng: [1.5] * planned.calls, study=text,
        workers=len({workers!r}), fit="fit" in given, capture="capture" in given,
    )
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("rerun")
    make_run(directory / "night", lambda planned, rng: [1.0, 2.0, 1.5, 1.2], study=STUDY)
    path = directory / "night.zip"
    assert main(["archive", str(directory / "night"), "-o", str(path)]) == 0
    return path


@pytest.fixture
def lab(archive, tmp_path, monkeypatch):
    """Return a function that makes a lab of so many workers that differs so from the archive's."""
    root, programs, log = tmp_path / "root", tmp_path / "bin", tmp_path / "log"
    (root / "playbooks/studies").mkdir(parents=True)
    programs.mkdir()
    monkeypatch.setenv("LC_ALL", "xx_XX.UTF-8")  # Ansible refuses it
    monkeypatch.setattr(rerun, "ROOT", root)
    monkeypatch.setattr(rerun, "PROGRAMS", programs)

    def make(workers: int = 5, *, is_there: bool = True, **changes) -> Path:
        record = json.loads((archive.parent / "night/run.json").read_text())
        nodes = [{**node, **changes} for node in record["nodes"]]
        here = {name: record[name] for name in ("lab", "versions")}
        if is_there:
            (tmp_path / "lab.json").write_text(json.dumps({**here, "nodes": nodes}))
        names = [f"worker{number}" for number in range(workers)]
        for program in ("ansible-playbook", "ansible-inventory"):
            text = ANSIBLE.format(
                python=sys.executable,
                log=str(log),
                lab=str(tmp_path / "lab.json"),
                workers=names,
                tests=str(Path(__file__).parents[1]),
            )
            (programs / program).write_text(text)
            (programs / program).chmod(0o755)
        return log

    return make


def _called(log: Path) -> list[list[str]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_a_dry_run_says_what_differs_and_sweeps_nothing(archive, lab, capsys):
    log = lab(cores=64, memory_mb=2050, clock_offset_ms=3, kernel="6.13.0")
    assert main(["rerun", str(archive), "--dry-run"]) == 0
    printed = capsys.readouterr().out
    rows = [line.split("│")[1:4] for line in printed.splitlines() if line.startswith("│")]
    told = {what.strip(): (old.strip(), new.strip()) for what, old, new in rows}
    assert told["nodes: cores"] == ("2", "64")
    assert told["nodes: kernel"] == ("6.12.0", "6.13.0")
    assert "nodes: memory_mb" not in told  # within the tolerance
    assert "nodes: clock_offset_ms" not in told
    assert told["rackbench"] == ("not recorded", kit_version())
    assert told["source"][0] == "0123456789ab"
    assert "plan" not in told
    assert "12 trials as night-again: ansible-playbook" in printed
    assert [call for call in _called(log) if "playbooks/sweep.yml" in call] == []


def test_values_with_brackets_are_shown_whole(archive, lab, capsys):
    lab(huge_pages="always [madvise] never", kernel="6.13 [/x]")
    assert main(["rerun", str(archive), "-i", "inventory", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert "│ always [madvise] never " in printed
    assert "│ 6.13 [/x] " in printed


def test_an_input_that_ends_at_the_question_sweeps_nothing(archive, lab, monkeypatch):
    def ended(question):
        raise EOFError

    log = lab()
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", ended)
    assert main(["rerun", str(archive)]) == 0
    assert [call for call in _called(log) if "playbooks/sweep.yml" in call] == []


@pytest.mark.parametrize("node", [{}, {"governor": "powersave"}])
def test_a_governor_is_compared_unless_the_study_sets_it(node, tmp_path):
    study = yaml.safe_dump({**yaml.safe_load(STUDY), "node": node})
    make_run(tmp_path / "night", lambda planned, rng: [1.0, 2.0, 1.5, 1.2], study=study)
    run = open_run(str(tmp_path / "night"))
    nodes = [{**item, "governor": "ondemand"} for item in run.provenance.recorded["nodes"]]
    here = Fields({**run.provenance.recorded, "nodes": nodes})
    subjects = [change.subject for change in rerun.find_changes(run, here)]
    assert ("nodes: governor" in subjects) == (not node)


def test_a_rerun_sweeps_the_archived_study_and_compares(archive, lab, capsys):
    log = lab()
    arguments = ["rerun", str(archive), "--run", "here", "--yes", "-e", "rackbench_lab=mine"]
    assert main([*arguments, "--inventory", "inventory/mine"]) == 0
    sweep = _called(log)[-1]
    assert sweep[:3] == ["-i", "inventory/mine", "playbooks/sweep.yml"]
    assert {"profile=demo", "run=here", "seed=2004", "rackbench_lab=mine"} <= set(sweep)
    study = next(one for one in sweep if one.startswith("study=archived/"))
    swept = rerun.ROOT / "playbooks/studies" / f"{study.removeprefix('study=')}.yml"
    assert swept.read_text() == STUDY
    original = archive.parent / "night/plan.jsonl"
    assert (rerun.ROOT / "results/here/plan.jsonl").read_bytes() == original.read_bytes()
    assert "night" in capsys.readouterr().out


def test_a_run_that_has_a_directory_anywhere_is_compared_after_its_rerun(archive, lab, capsys):
    lab()
    assert main(["rerun", str(archive.parent / "night"), "--run", "here", "--yes"]) == 0
    assert "here against night" in capsys.readouterr().out


def test_a_rerun_on_a_project_compares_what_was_swept_there(archive, lab, tmp_path, monkeypatch):
    lab()
    there = tmp_path / "mylab"
    (there / "inventory").mkdir(parents=True)
    (there / "rackbench.yml").write_text(f"checkout: {rerun.ROOT}\n")
    swept = rerun.Lab(str(there / "inventory"))
    assert swept.results() == there / "results"
    assert rerun.Lab("client1,").results() == rerun.Lab().results() == rerun.ROOT / "results"
    make_run(there / "results/here", lambda planned, rng: [1.5] * planned.calls, study=STUDY)
    words = ["rerun", str(archive), "--run", "here", "--yes"]
    assert main([*words, "--inventory", str(there / "inventory")]) == 0
    monkeypatch.chdir(there)
    assert rerun.Lab().results() == rerun.ROOT / "results"  # ansible.cfg names its inventory
    assert rerun.Lab("inventory/").results() == there / "results"


@pytest.mark.parametrize("lacks", [{"drawing": 1, "least_ok": 0.0}, {}])
@pytest.mark.parametrize("stops", [False, True])
def test_an_archive_of_an_earlier_version_is_swept_as_it_was_planned(
    tmp_path, lab, capsys, lacks, stops
):
    """Data are drawn, the error of interim analyses is spent, and packets are kept as then."""
    lab()
    run, path = tmp_path / "old", tmp_path / "old.zip"
    rule = {"stop": {"half_width": 0.1, "looks": [2, 3]}} if stops else {}
    profiles = {"demo": {"replicates": 3, "calls": 4, "warmup": 1, **rule}}
    study = yaml.safe_dump({**yaml.safe_load(STUDY), "profiles": profiles})
    planned = make_run(run, lambda planned, rng: [1.5] * planned.calls, study=study, capture=True)
    spent = {"stop": replace(planned[0].stop, spending="equal")} if stops else {}
    earlier = plan_bytes([replace(trial, **lacks, **spent) for trial in planned])
    assert b"spending" not in earlier
    assert (b"drawing" in earlier) == (not lacks)
    (run / "plan.jsonl").write_bytes(earlier)
    edit_json(run / "run.json", plan_sha256=hashlib.sha256(earlier).hexdigest())
    assert main(["archive", str(run), "-o", str(path)]) == 0
    assert main(["rerun", str(path), "--run", "here", "--yes"]) == 0
    assert (rerun.ROOT / "results/here/plan.jsonl").read_bytes() == earlier
    assert "│ plan" not in capsys.readouterr().out


def test_a_sweep_that_is_refused_leaves_no_plan(archive, lab, tmp_path):
    lab(workers=2)
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path / "out")
    run = open_run(str(tmp_path / "out/runs/night"))
    again = rerun.plan_again(run, "here", 2, fit=True)
    refused = rerun.Lab(play=lambda name, variables: 4)
    with pytest.raises(InputError, match="the sweep of here stopped"):
        again.sweep(refused)
    assert not (refused.results() / "here").exists()


def test_a_study_that_this_version_has_is_swept_by_its_name(archive, lab):
    log = lab()
    name = json.loads((archive.parent / "night/run.json").read_text())["study"]
    (rerun.ROOT / "playbooks/studies" / f"{name}.yml").write_text(STUDY)
    assert main(["rerun", str(archive), "--yes"]) == 0
    assert f"study={name}" in _called(log)[-1]
    assert not (rerun.ROOT / "playbooks/studies/archived").exists()


def test_a_study_of_the_project_is_not_swept_for_that_of_the_archive(
    archive, lab, tmp_path, capsys
):
    log = lab()
    there = tmp_path / "mylab"
    (there / "inventory").mkdir(parents=True)
    (there / "studies").mkdir()
    (there / "rackbench.yml").write_text(f"checkout: {rerun.ROOT}\n")
    name = json.loads((archive.parent / "night/run.json").read_text())["study"]
    (rerun.ROOT / "playbooks/studies" / f"{name}.yml").write_text(STUDY)
    own = there / "studies" / f"{name}.yml"
    for text, swept in ((f"{STUDY}\n# mine\n", "archived/"), (STUDY, name)):
        own.write_text(text)
        inventory = ["--inventory", str(there / "inventory")]
        assert main(["rerun", str(archive), "--dry-run", *inventory]) == 0
        printed = capsys.readouterr().out
        assert f"-e study={swept}" in printed
        assert ("the archived one is swept" in printed) == (text != STUDY)
    assert "playbooks/sweep.yml" not in log.read_text()


def test_the_study_that_would_be_swept_is_the_one_that_is_compared(archive, tmp_path):
    run = open_run(str(archive.parent / "night"))
    folders = [tmp_path / "project", tmp_path / "kit"]
    for folder in folders:
        (folder / "teaching").mkdir(parents=True)
        (folder / f"{run.study}.yml").write_text(folder.name)
        (folder / f"teaching/{run.study}.yml").write_text("teaching")
    again = rerun.plan_again(run, None, 5, fit=False, studies=folders)
    (study,) = (one for one in again.changes if one.subject.startswith("study file"))
    assert hashlib.sha256(b"project").hexdigest()[:12] in study.values[1]


def test_a_lab_with_fewer_workers_is_refused_unless_it_may_leave_levels_out(archive, lab, capsys):
    log = lab(workers=2)
    assert main(["rerun", str(archive), "--yes"]) == 2
    message = capsys.readouterr().err
    assert "servers" in message
    assert "is 3, but the inventory has 2 workers" in message
    assert "--fit" in message
    assert [call[0] for call in _called(log)] == ["--list"]  # no node was asked
    assert main(["rerun", str(archive), "--fit", "--yes"]) == 0
    assert "fit=true" in _called(log)[-1]
    printed = capsys.readouterr().out
    assert "12 trials of 4 cells" in printed
    assert "6 trials of 2 cells" in printed


def test_a_run_that_was_fitted_and_rotated_is_planned_so_again(tmp_path):
    directory = tmp_path / "night"
    times = [1.0, 2.0, 1.5, 1.2]
    options = {"study": STUDY, "workers": 2, "fit": True, "rotate": True}
    make_run(directory, lambda planned, rng: times, **options)
    edit_json(directory / "run.json", rotated=True)
    run = open_run(str(directory))
    for workers in (2, 5):
        again = rerun.plan_again(run, None, workers, fit=False)
        assert plan_bytes(again.plan) == (directory / "plan.jsonl").read_bytes()
        assert {trial.shift for trial in again.plan} == {0, 1}
        assert {"fit=true", "rotate=true"} <= set(again.command(rerun.Lab()))
    with pytest.raises(InputError, match="more than 2 workers, but the inventory has only 1; add"):
        rerun.plan_again(run, None, 1, fit=False)


def test_an_installation_without_playbooks_says_where_to_get_them(archive, lab, tmp_path, capsys):
    wanted = "a clone of rackbench: run `make .venv/ready` there"
    assert main(["rerun", str(archive), "--yes"]) == 2
    assert wanted in capsys.readouterr().err
    lab()
    shutil.rmtree(tmp_path / "root/playbooks")  # Ansible alone, as with the extra lab
    assert main(["rerun", str(archive), "--yes"]) == 2
    assert wanted in capsys.readouterr().err


def test_what_cannot_be_run_again_is_one_message(archive, lab, tmp_path, capsys):
    log = lab(is_there=False)
    assert main(["rerun", str(archive)]) == 2
    assert "--yes" in capsys.readouterr().err
    assert main(["rerun", str(archive), "--yes", "--run", "../up"]) == 2
    assert "not a valid name" in capsys.readouterr().err
    assert main(["rerun", str(archive), "--yes"]) == 2
    assert "could not be checked" in capsys.readouterr().err
    assert "playbooks/sweep.yml" not in log.read_text()
    lab(workers=0)
    assert main(["rerun", str(archive), "--yes"]) == 2
    assert "its group workers is empty" in capsys.readouterr().err
    run = tmp_path / "bare"
    shutil.copytree(archive.parent / "night", run)
    edit_json(run / "run.json", study_file=None)
    lab()
    assert main(["archive", str(run), "-o", str(tmp_path / "bare.zip")]) == 0
    assert main(["rerun", str(tmp_path / "bare.zip"), "--yes"]) == 2
    assert "has no study file" in capsys.readouterr().err
