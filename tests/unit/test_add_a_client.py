"""The worked example of docs/guides/add-a-client.md: put into a copy of the tree, built and run."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import synthetic
import yaml
from machine import wait_for

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
    """What the example adds to lists of rackbench's variables, by the list's name."""
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
        wait_for(ready.exists, "the worker serves")
        run_trials(tree, place, lab, tree / "clients")
    finally:
        service.terminate()
        service.wait()
    assert not ready.exists(), "the service left its ready file"
    return place


@pytest.fixture(scope="module")
def of_script(tree):
    """A run of the example's script, against a server of Python's own."""
    place = tree / "results/get-demo"
    plan = place / "plan.jsonl"
    collect(tree, "plan", "get", "--profile=demo", "--workers=1", f"--output={plan}")
    with serving(tree) as (lab, _):
        run_trials(tree, place, lab, tree / "playbooks/clients")
    return place


@contextmanager
def serving(tree):
    """A server of Python's own; gives the file that tells clients of it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), OneByte)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    worker = {"name": "here", "address": "127.0.0.1", "axis_url": url, "services": ["tomcat"]}
    lab = tree / "served.json"
    lab.write_text(json.dumps({"schema": 1, "workers": [worker]}))
    try:
        yield lab, server.server_port
    finally:
        server.shutdown()


class OneByte(BaseHTTPRequestHandler):
    """Answers one byte, as rackbench's own resource does."""

    def do_GET(self):
        self.send_response(200 if self.path == "/byte" else 404)
        self.send_header("Content-Length", "1")
        self.end_headers()
        self.wfile.write(b"x")

    def log_message(self, *said):
        """Say nothing."""


def run_trials(tree, place, lab, clients, path=""):
    """Have the runner of the copy run all trials of a plan; `path` holds programs of its own."""
    runner = ["java", "-cp", f"{tree / STAGE.format('harness')}/*"]
    options = {"run": place, "lab": lab, "clients": clients, "lock": tree / "lock"}
    subprocess.run(
        [*runner, "org.rackbench.harness.runner.Runner"]
        + [word for name, value in options.items() for word in (f"--{name}", str(value))],
        env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}"},
        check=True,
    )


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


def reported(tree, run, study):
    """Return the report of a run of a study."""
    text = (tree / f"playbooks/studies/{study}.yml").read_text()
    record = synthetic.provenance(run.name, open_run(str(run)).plan[0], text)
    (run / "run.json").write_text(json.dumps(record))
    collect(tree, "report", str(run))
    return (run / "report.html").read_text()


def test_the_report_judges_the_claim_of_the_example(tree, run):
    page = reported(tree, run, "connection")
    assert "A call on a connection of its own takes longer than one on a kept connection." in page
    assert "not in this profile" not in page, "the claim is about cells of the study"


def test_the_script_of_the_example_makes_its_calls(of_script):
    trials = sorted((of_script / "trials").iterdir())
    assert len(trials) == 3
    for trial in trials:
        record = json.loads((trial / "trial.json").read_text())
        assert (record["outcome"], record["reason"]) == ("ok", "")
        assert record["program"]["reads"] == "csv"
        rows = [row.split(",") for row in (trial / "calls.csv").read_text().splitlines()[1:]]
        assert [row[2] for row in rows] == ["warmup"] * 10 + ["measure"] * 20
        assert {tuple(row[-2:]) for row in rows} == {("1", "ok")}


def test_the_script_of_the_example_is_short(blocks):
    script = dict(blocks)["playbooks/clients/get-python/get.py"]
    assert len([line for line in script.splitlines() if line]) <= 20


@pytest.mark.parametrize(
    ("client", "reads", "rate"),
    [
        ("wrk", "wrk", None),
        ("vegeta", "vegeta", 40),
        ("vegeta", "vegeta", 12.5),
        ("jmeter-http", "jtl", None),
    ],
)
def test_an_example_of_a_program_can_be_run(tree, tmp_path, client, reads, rate):
    """With the program itself where it is installed, else with what prints like it."""
    program = client.partition("-")[0]
    if not shutil.which(program):
        shutil.copy(Path(__file__).with_name("program_stand_in.py"), tmp_path / program)
        (tmp_path / program).chmod(0o755)
    with serving(tree) as (lab, port):
        study = {
            **{"schema": 1, "study": "example", "title": "An example", "clients": client},
            **{"factors": {"concurrency": [2]}, "threads": "concurrency", "seed": 1},
            "constants": {"path": "/byte", "port": port, "seconds": 1, "warm_seconds": 1},
            **{"replicates": 1, "calls": 10, "warmup": 0, "timeout_s": 60},
            "profiles": {"demo": {}},
        }
        if rate:
            study["arrival"] = {"rate": rate, "spacing": "even", "lead_s": 1}
        file = tmp_path / "example.yml"
        file.write_text(yaml.safe_dump(study))
        place = tmp_path / "run"
        plan = f"--output={place / 'plan.jsonl'}"
        collect(tree, "plan", str(file), "--profile=demo", "--workers=1", plan)
        run_trials(tree, place, lab, tree / "playbooks/clients", tmp_path)
    (trial,) = (place / "trials").iterdir()
    record = json.loads((trial / "trial.json").read_text())
    assert (record["outcome"], record["reason"]) == ("ok", ""), record
    assert record["program"]["reads"] == reads
    assert (record["program"]["summary"] is not None) == (reads == "wrk")
    assert (record["calls_rows"] == 0) == (reads == "wrk")
    assert rate is None or record["calls_rows"] == 20


def test_the_report_says_that_the_script_warms_up_by_itself(tree, of_script):
    page = reported(tree, of_script, "get")
    assert "1 cell called by programs: rackbench does not control their warm-up" in page


def test_needs_port_and_unit_of_the_example_agree(tree, lists):
    study = yaml.safe_load((tree / "playbooks/studies/connection.yml").read_text())
    (program,) = lists["worker_programs_list"]
    assert study["needs"] == [program["name"]]
    assert [*program["ports"].values()] == [study["constants"]["port"]]
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
