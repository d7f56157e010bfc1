"""A sweep from the study file to the report, killed on the way at both ends."""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
import re
import shutil
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path

import machine
import pytest
import sealed
from labs import RUNNER, Lab
from playbook import Outcome

RUN = "tiny"
STUDY = {"study": "sort", "profile": "tiny", "run": RUN}
PLANNED = 4 * 3
ON_CLIENT = f"/var/lib/rackbench/runs/{RUN}"


@dataclass(frozen=True)
class Sweep:
    """A run that was killed twice and finished by the third command."""

    lab: Lab
    results: Path
    at_first_kill: dict[str, str]
    at_second_kill: dict[str, str]
    survived: bool
    exposure: float
    last: Outcome

    @property
    def trials(self) -> Path:
        return self.results / "trials"


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()} if directory.is_dir() else set()


def sealed_on_client(lab: Lab) -> int:
    return int(lab.output("client1", f"ls {ON_CLIENT}/trials 2>/dev/null | wc -l"))


def runner_pid(lab: Lab) -> int:
    return int(lab.output("client1", f"systemctl show -P MainPID {RUNNER}"))


@pytest.fixture(scope="module")
def sweep(lab: Lab) -> Sweep:
    results = lab.player.project.results(RUN)
    trials = results / "trials"

    with lab.phase("sweep.yml, until it is killed on the control side"):
        process, log = lab.player.start("sweep.yml", STUDY)
        try:
            machine.wait_for(
                lambda: len(names(trials)) >= 2 or process.poll() is not None, "two trials", 150
            )
            assert process.poll() is None, log.read_text()[-4000:]
        finally:
            machine.kill_group(process)
    first = sealed.hashes(trials)

    with lab.phase("the runner goes on alone, until it is killed"):
        before = sealed_on_client(lab)
        machine.wait_for(lambda: sealed_on_client(lab) > before, "a trial without control host")
        said = lab.output("client1", f"systemd-analyze security --no-pager {RUNNER} | tail -n 1")
        exposure = re.search(r": ([\d.]+) ", said)
        pid = runner_pid(lab)
        survived = pid > 0 and before < PLANNED
        lab.output("client1", f"kill -9 {pid}")
        machine.wait_for(lambda: runner_pid(lab) == 0, "the runner ends")
    second = client_hashes(lab)

    last = lab.play("sweep.yml", STUDY)
    return Sweep(
        lab, results, first, second, survived, float(exposure.group(1) if exposure else 10), last
    )


def client_hashes(lab: Lab) -> dict[str, str]:
    listed = lab.output(
        "client1", f"cd {ON_CLIENT}/trials && find . -type f -exec sha256sum {{}} +"
    )
    pairs = (line.split(maxsplit=1) for line in listed.splitlines())
    return {name.removeprefix("./"): digest for digest, name in pairs}


@pytest.mark.journal(RUNNER, "client1")
def test_every_planned_trial_is_there_once(sweep: Sweep) -> None:
    plan = [json.loads(line) for line in (sweep.results / "plan.jsonl").read_text().splitlines()]
    assert len(plan) == PLANNED
    assert names(sweep.trials) == {trial["id"] for trial in plan}
    done = sweep.lab.player.project.collect("check", RUN)
    assert done.returncode == 0, done.stdout
    assert f"{PLANNED} of {PLANNED} trials sealed and verified; no findings" in done.stdout


def test_the_runner_outlives_the_control_side(sweep: Sweep) -> None:
    assert sweep.survived
    assert 2 <= len({path.split("/")[0] for path in sweep.at_first_kill}) < PLANNED


def test_sealed_trials_are_the_same_bytes_after_both_kills(sweep: Sweep) -> None:
    now = sealed.hashes(sweep.trials)
    assert sweep.at_first_kill.items() <= now.items()
    assert sweep.at_second_kill
    assert sweep.at_second_kill.items() <= now.items()


def test_the_client_keeps_nothing_that_is_proven_here(sweep: Sweep) -> None:
    assert client_hashes(sweep.lab) == {}


def test_the_nodes_are_looked_at_before_and_after_the_trials(sweep: Sweep) -> None:
    looks = [json.loads(line) for line in (sweep.results / "nodes.jsonl").read_text().splitlines()]
    assert len(looks) >= 3
    assert all({node["name"] for node in look["nodes"]} == set(sweep.lab.nodes) for look in looks)


def test_the_run_has_a_page_that_says_it_has_ended(sweep: Sweep) -> None:
    page = (sweep.results / "status.html").read_text()
    assert f"{PLANNED} of {PLANNED} trials sealed" in page
    assert "<script" not in page


def test_no_trial_ran_on_after_it_was_sealed_or_at_the_same_time_as_another(sweep: Sweep) -> None:
    spans = []
    for directory in sweep.trials.iterdir():
        record = json.loads((directory / "trial.json").read_text())
        spans.append((record["started_at"], record["ended_at"], record["position"]))
    spans.sort()
    assert [position for _, _, position in spans] == list(range(1, PLANNED + 1))
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))


def test_nothing_unsealed_is_left_on_the_client(sweep: Sweep) -> None:
    assert sweep.lab.output("client1", f"ls {ON_CLIENT}/work 2>/dev/null || :") == ""
    assert not (sweep.results / ".incoming").exists()


def test_every_trial_is_ok_and_its_answers_were_checked(sweep: Sweep) -> None:
    for directory in sweep.trials.iterdir():
        record = json.loads((directory / "trial.json").read_text())
        assert (record["outcome"], record["errors"]) == ("ok", [])
        with (directory / "calls.csv").open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        phases = [phase for phase, _ in itertools.groupby(row["phase"] for row in rows)]
        assert phases[:2] == ["warmup", "measure"]
        assert [row["phase"] for row in rows].count("measure") == 4
        assert {row["status"] for row in rows} == {"ok"}
        assert record["parts"]["rows"] == 4
        assert (directory / "parts.csv").read_text().count("\n") == 1 + 4


def test_the_first_measured_call_follows_in_mid_stride(sweep: Sweep) -> None:
    """While nodes are sampled, the thread calls on: its pause is that between any two calls."""
    ratios = []
    for directory in sweep.trials.iterdir():
        with (directory / "calls.csv").open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        pauses = [
            (int(b["start_ns"]) - int(a["start_ns"]) - int(a["elapsed_ns"]), a["phase"], b["phase"])
            for a, b in itertools.pairwise(rows)
        ]
        (first,) = (pause for pause, *phases in pauses if phases == ["warmup", "measure"])
        own = [pause for pause, *phases in pauses if phases == ["measure", "measure"]]
        ratios.append(first / statistics.median(own))
    assert statistics.median(ratios) < 4, "with a barrier it was 17 and more"


def test_every_trial_says_what_its_nodes_used(sweep: Sweep) -> None:
    for directory in sweep.trials.iterdir():
        resources = json.loads((directory / "trial.json").read_text())["resources"]
        assert "client1" in resources["nodes"]
        assert {node["missing"] for node in resources["nodes"].values()} == {""}
        with (directory / "resources.csv").open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert len(rows) == resources["rows"]
        used = [row for row in rows if (row["node"], row["service"]) == ("client1", "runner")]
        # The trial's JVM was started, and worked, between the first look and the last.
        assert sum(float(row["cpu_cores"] or 0) for row in used) > 0.05
        assert int(used[0]["t_ns"]) < 0 < int(used[-1]["t_ns"])


def test_cells_csv_is_what_the_raw_calls_say(sweep: Sweep) -> None:
    with (sweep.results / "cells.csv").open(newline="") as stream:
        cells = list(csv.DictReader(stream))
    raw = sealed.recomputed(sweep.trials)
    assert {tuple(cell[name] for name in sealed.FACTORS) for cell in cells} == set(raw)
    assert len(cells) == len(raw) == 4
    for cell in cells:
        assert cell["study"] == "sort"
        assert cell["outcome"] == "ok"
        mine = raw[tuple(cell[name] for name in sealed.FACTORS)]
        theirs = {column: float(cell[column]) for column in mine}
        assert theirs == pytest.approx(mine, rel=1e-5)


def test_a_run_knows_where_it_was_made(sweep: Sweep) -> None:
    record = json.loads((sweep.results / "run.json").read_text())
    project = sweep.lab.player.project
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=project.root, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert record["git"] == {"commit": commit, "dirty": False}
    assert record["lab"] == {"name": "rbtest", "kind": "virtual", "link_mbit": 100}
    assert {n["name"]: n["address"] for n in record["nodes"]} == dict(sweep.lab.nodes)
    assert len({node["packages_sha256"] for node in record["nodes"]}) == 1
    assert all(abs(node["clock_offset_ms"]) < 1000 for node in record["nodes"])
    sums = (project.root / "java-apps/dist/SHA256SUMS").read_text().splitlines()
    manifest = {name: digest for digest, name in (line.split() for line in sums)}
    clients = project.root / "playbooks/clients"
    for file in (path for path in clients.rglob("*") if path.is_file()):
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        manifest[f"clients/{file.relative_to(clients)}"] = digest
    assert record["artefacts"] == manifest
    assert record["study_file"] == (project.root / "playbooks/studies/sort.yml").read_text()


def test_the_report_is_one_file_that_needs_no_other(sweep: Sweep) -> None:
    page = (sweep.results / "report.html").read_text()
    markup = re.sub(r"(<script\b[^>]*>).*?</script>", r"\1", page, flags=re.S)
    styles = " ".join(re.findall(r"<style\b.*?</style>", markup, flags=re.S))
    loaded = re.findall(r"""<(?:script|img|iframe|source)\b[^>]*?\ssrc=["']([^"']*)""", markup)
    loaded += re.findall(r"""<link\b[^>]*?\shref=["']([^"']*)""", markup)
    loaded += re.findall(r"""url\(["']?([^"')]*)""", styles)
    assert [what for what in loaded if not what.startswith(("data:", "#"))] == []
    linked = re.findall(r"""<a\b[^>]*?\shref=["']([^#"'][^"']*)""", markup)
    assert [what for what in linked if not (sweep.results / what).is_file()] == []
    assert [node for node in sweep.lab.nodes if node not in page] == []
    assert str(sweep.results / "report.html") in sweep.last.text


def test_the_runner_is_confined(sweep: Sweep) -> None:
    assert sweep.exposure <= 3.0


def test_the_same_command_again_changes_nothing(sweep: Sweep) -> None:
    kept = [sweep.results / name for name in ("plan.jsonl", "run.json", "cells.csv")]
    before = [path.read_bytes() for path in kept], sealed.hashes(sweep.trials)
    there = client_hashes(sweep.lab)
    outcome = sweep.lab.play("sweep.yml", STUDY)
    assert ([path.read_bytes() for path in kept], sealed.hashes(sweep.trials)) == before
    assert client_hashes(sweep.lab) == there
    assert set(outcome.changed) <= {"localhost"}, outcome.changed_tasks


# Several commands at once


def test_the_same_run_started_twice_at_once_is_one_run_that_both_follow(lab: Lab) -> None:
    twice = {"study": "sort", "profile": "tiny", "run": "twice"}
    both = [lab.player.start("sweep.yml", twice) for _ in range(2)]
    try:
        codes = [process.wait(400) for process, _ in both]
    finally:
        for process, _ in both:
            if process.poll() is None:
                machine.kill_group(process)
    assert codes == [0, 0], "\n".join(log.read_text()[-2000:] for _, log in both)
    done = lab.player.project.collect("check", "twice")
    assert f"{PLANNED} of {PLANNED} trials sealed and verified; no findings" in done.stdout


def test_other_passwords_are_not_made_for_nodes_that_have_some(
    lab: Lab, tmp_path: Path, long_form: bool
) -> None:
    extra = {"rackbench_secrets": str(tmp_path / "secrets")}
    also = {"sweep.yml": {**STUDY, "run": "elsewhere"}} if long_form else {}
    for playbook, more in {"site.yml": {}, **also}.items():
        refused = lab.player.attempt(playbook, {**extra, **more}, "--limit=all")
        assert refused.code == 2
        assert f"passwords on broker1 differ from those in {tmp_path}/secrets here" in refused.flat
        assert not (tmp_path / "secrets").exists()


# Several studies, and levels that do not fit


def test_several_studies_are_a_run_each_with_their_own_settings_and_one_report(
    lab: Lab, long_form: bool
) -> None:
    both = {"study": "sort,harness", "profile": "pair", "run": "both", "fit": True}
    outcome = lab.play("sweep.yml", both)
    project = lab.player.project
    links, looks = {}, {}
    for study in ("sort", "harness"):
        run = f"both-{study}"
        done = project.collect("check", run)
        assert "1 of 1 trials sealed and verified; no findings" in done.stdout
        record = json.loads((project.results(run) / "run.json").read_text())
        assert (record["run"], record["study"]) == (run, study)
        links[study] = {node["link_shaped_mbit"] for node in record["nodes"]}
        looks[study] = len((project.results(run) / "nodes.jsonl").read_text().splitlines())
        assert (project.results(run) / "report.html").is_file()
    assert links == {"sort": {100}, "harness": {1000}}
    assert looks == {"sort": 2, "harness": 2}
    page = project.results("both") / "report.html"
    head = page.read_text().split(">Summary<")[0]
    assert "because the inventory had 3 workers: servers 9" in head
    assert [run for run in ("both-sort", "both-harness") if run not in head] == []
    assert str(page) in outcome.text
    if long_form:
        lab.play("verify.yml")  # another rate of the links than the inventory's is its affair


# What is wrong with a run is told


def test_a_run_that_exists_with_another_plan_is_refused(sweep: Sweep) -> None:
    before = sealed.hashes(sweep.results)
    outcome = sweep.lab.player.attempt("sweep.yml", {**STUDY, "seed": 7})
    assert outcome.code == 2
    assert "run tiny exists with another plan" in outcome.flat
    assert "choose another run name" in outcome.flat
    assert outcome.hosts == {"localhost"}
    assert sealed.hashes(sweep.results) == before


@pytest.mark.long
def test_a_run_that_the_client_has_with_another_plan_is_refused(
    sweep: Sweep, tmp_path: Path
) -> None:
    shutil.move(sweep.results, tmp_path / "lost")
    try:
        outcome = sweep.lab.player.attempt("sweep.yml", {**STUDY, "seed": 7})
    finally:
        shutil.rmtree(sweep.results, ignore_errors=True)
        shutil.move(tmp_path / "lost", sweep.results)
    assert outcome.code == 2
    assert "client1 has a run tiny of another plan" in outcome.flat
    assert "sweep under another name (-e run=NAME)" in outcome.flat


@pytest.fixture
def damaged(sweep: Sweep, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sweep.results, tmp_path / "damaged"))


def test_a_missing_trial_is_found(sweep: Sweep, damaged: Path) -> None:
    lost = sorted((damaged / "trials").iterdir())[3]
    shutil.rmtree(lost)
    done = sweep.lab.player.project.collect("check", str(damaged))
    assert done.returncode == 1
    assert f"missing: {lost.name}" in done.stdout


def test_a_truncated_trial_is_refused_and_not_counted(sweep: Sweep, damaged: Path) -> None:
    torn = sorted((damaged / "trials").iterdir())[3] / "calls.csv"
    torn.write_bytes(torn.read_bytes()[:-7])
    done = sweep.lab.player.project.collect("check", str(damaged))
    assert done.returncode == 1
    assert f"refused: {torn.parent.name}: calls.csv" in done.stdout
    assert "again" in done.stdout
    report = sweep.lab.player.project.collect("report", str(damaged))
    assert report.returncode == 1
    assert torn.parent.name in report.stderr
    with (damaged / "cells.csv").open(newline="") as stream:
        assert sorted(int(cell["trials"]) for cell in csv.DictReader(stream)) == [2, 3, 3, 3]


def test_a_trial_that_was_never_planned_is_found(sweep: Sweep, damaged: Path) -> None:
    first = sorted((damaged / "trials").iterdir())[0]
    shutil.copytree(first, first.with_name("b99-t999-extra"))
    done = sweep.lab.player.project.collect("check", str(damaged))
    assert done.returncode == 1
    assert "stray: b99-t999-extra" in done.stdout
