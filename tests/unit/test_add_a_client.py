"""The worked example of docs/guides/add-a-client.md: put into a copy of the tree, built and run."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import synthetic
import yaml

from collect.run.directory import open_run

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```\w+\n(?://|#) (?P<where>.+)\n(?P<text>(?:.*\n)+?)```\n")
"""A block of the document; its first line says which file it is or belongs to."""
LIST = ", in the list "
STAGE = "java-apps/{}/target/stage"

pytestmark = pytest.mark.skipif(not shutil.which("mvn"), reason="Maven is not installed")


@pytest.fixture(scope="module")
def blocks():
    """The blocks as pairs of place and text."""
    document = (ROOT / "docs/guides/add-a-client.md").read_text()
    return [(block["where"], block["text"]) for block in BLOCK.finditer(document)]


@pytest.fixture(scope="module")
def tree(blocks, tmp_path_factory):
    """A copy of the tree with the example in it, its Java built."""
    root = tmp_path_factory.mktemp("tree")
    for folder in ("collect", "java-apps", "playbooks"):
        unwanted = shutil.ignore_patterns("target", "dist", "__pycache__")
        shutil.copytree(ROOT / folder, root / folder, ignore=unwanted)
    for where, text in blocks:
        if LIST in where:
            continue
        path = root / where
        assert path.exists() == (path.suffix == ".properties"), where
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(text)
    modules = "clients/plain-clients,workers/plain-workers"
    command = ["./pinned_maven", "--batch-mode", "--quiet", "--no-transfer-progress"]
    done = subprocess.run(
        [*command, f"--projects={modules}", "--also-make", "-Dmaven.test.skip=true", "package"],
        cwd=root / "java-apps",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return root


@pytest.fixture(scope="module")
def lists(blocks):
    """What the example adds to lists of the kit's variables, by the list's name."""
    return {
        where.partition(LIST)[2]: yaml.safe_load(text) for where, text in blocks if LIST in where
    }


@pytest.fixture(scope="module")
def run(tree, lists):
    """A run of the example's study on this machine."""
    place = tree / "results/connection-demo"
    plan = place / "plan.jsonl"
    collect(tree, "plan", "connection", "--profile=demo", "--workers=1", f"--output={plan}")
    (program,) = lists["worker_programs_list"]
    worker = {"name": "here", "address": "127.0.0.1", "services": [program["name"]]}
    lab = tree / "lab.json"
    lab.write_text(json.dumps({"schema": 1, "workers": [worker]}))
    shutil.copytree(tree / STAGE.format("clients/plain-clients"), tree / "clients/echo-tcp")
    ready = tree / "ready"
    arguments = program["arguments"].replace("${WORKER_ADDRESS}", "127.0.0.1").split()
    jars = tree / STAGE.format("workers/plain-workers")
    service = subprocess.Popen(
        ["java", "-cp", f"{jars}/*", program["main_class"], *arguments, "--ready-file", ready]
    )
    try:
        until(ready.exists)
        runner = ["java", "-cp", f"{tree / STAGE.format('harness')}/*"]
        options = {"run": place, "lab": lab, "clients": tree / "clients", "lock": tree / "lock"}
        subprocess.run(
            [*runner, "org.rackbench.harness.runner.Runner"]
            + [word for name, value in options.items() for word in (f"--{name}", str(value))],
            check=True,
        )
    finally:
        service.terminate()
        service.wait()
    assert not ready.exists(), "the service left its ready file"
    return place


def collect(tree, *command):
    """Run a command of the copy's collect; return what it prints."""
    return subprocess.run(
        [sys.executable, "-m", "collect", *command],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def until(condition):
    """Wait until a condition holds, for a minute at most."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_calls_of_the_example_are_all_right(run):
    trials = sorted((run / "trials").iterdir())
    assert len(trials) == 2 * 2 * 2
    for trial in trials:
        record = json.loads((trial / "trial.json").read_text())
        assert (record["outcome"], record["reason"]) == ("ok", "")
        size = str(record["factors"]["payload_bytes"])
        rows = (trial / "calls.csv").read_text().splitlines()[1:]
        assert sum(",measure," in row for row in rows) == 50
        assert {tuple(row.split(",")[-3:]) for row in rows} == {(size, size, "ok")}


def test_the_report_judges_the_claim_of_the_example(tree, run):
    plan = open_run(str(run)).plan
    study = (tree / "playbooks/studies/connection.yml").read_text()
    record = synthetic.provenance(run.name, plan[0], study)
    (run / "run.json").write_text(json.dumps(record))
    collect(tree, "report", str(run))
    page = (run / "report.html").read_text()
    assert "A call on a connection of its own takes longer than one on a kept connection." in page
    assert "not in this profile" not in page, "the claim is about cells of the study"


def test_needs_port_and_unit_of_the_example_agree(tree, lists):
    study = yaml.safe_load((tree / "playbooks/studies/connection.yml").read_text())
    (program,) = lists["worker_programs_list"]
    assert study["needs"] == [program["name"]]
    assert lists["bench_ports.workers"] == [study["constants"]["port"]]
    assert f"--port {study['constants']['port']}" in program["arguments"]
    options = yaml.safe_load((ROOT / "roles/worker_programs/meta/argument_specs.yml").read_text())[
        "argument_specs"
    ]["main"]["options"]["worker_programs_list"]["options"]
    required = {name for name, option in options.items() if option.get("required")}
    assert required <= set(program) <= set(options)


def test_the_directory_of_the_program_is_the_units(tree, lists):
    (program,) = lists["worker_programs_list"]
    names = tree / "java-apps/workers/plain-workers/src/main/resources/META-INF/rackbench"
    line = f"{program['name']} = {program['main_class']}"
    assert line in (names / "programs.properties").read_text().splitlines()
