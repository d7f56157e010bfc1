"""A server unknown to rackbench: a role and a line in the inventory, and clients find it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from labs import RUNNER, Lab
from new_server import LISTED, write_role
from project import small_study
from trials import Planned, run

pytestmark = pytest.mark.long

UNIT = "rackbench-parrot.service"
MANIFEST = {"command": ["sh", "ask.sh", "{endpoints.parrot.url}", "{plan}"], "reads": "csv"}
ASK = """
set -eu
read_plan() { python3 -c "import json, sys; plan = json.load(open(sys.argv[1])); print($1)" "$2"; }
[ "$(read_plan "plan['workers'][0]['services']['parrot']['url']" "$2")" = "$1" ]
echo start_ns,elapsed_ns,status
for call in 1 2 3; do
  begin=$(date +%s%N)
  said=$(curl --silent --show-error --fail "$1/hello/$call")
  [ "$said" = "/hello/$call" ] && status=ok || status=wrong
  echo "$begin,$(($(date +%s%N) - begin)),$status"
done
"""


# The server tells its setting to clients, and to the health service as its page says.
TOLD = """
HEAP = int(os.environ["HEAP"])
TOLD = {"/heap": b"x" * HEAP, "/settings": b"parrot_heap_mb=%d" % HEAP}
""".strip()
TELLING = {
    "vars/serves.yml": (
        "    probe: {",
        "    settings: [worker_heap_mb]\n    probe: {settings: /settings, ",
    ),
    "templates/rackbench-parrot.service.j2": (
        "Type=exec\n",
        "Type=exec\nEnvironment=HEAP={{ bench_worker_heaps_mb.parrot | default(8) }}\n",
    ),
    "files/parrot.py": (
        "self.wfile.write(self.path.encode())",
        "self.wfile.write(TOLD.get(self.path, self.path.encode()))",
    ),
}
HEAP_ASKING = {"command": ["sh", "ask.sh", "{endpoints.parrot.url}"], "reads": "csv"}
ASK_HEAP = """
set -eu
echo start_ns,elapsed_ns,status,response_bytes
for call in 1 2 3; do
  begin=$(date +%s%N)
  bytes=$(curl --silent --show-error --fail "$1/heap" | wc -c)
  echo "$begin,$(($(date +%s%N) - begin)),ok,$bytes"
done
"""
STUDY = small_study(
    "parrot",
    factors={"heap": [16, 32]},
    clients="heap-asking",
    needs=["parrot"],
    replicates=2,
    calls=3,
    profiles={
        "demo": {"node": {"parrot_heap_mb": "heap"}},
        "of-all": {"node": {"worker_heap_mb": "heap"}},
    },
)


def write_telling_role(root: Path) -> tuple[Path, Path]:
    """Add the role, a client that asks for its setting, and a study that varies it."""
    write_role(root)
    for name, (old, new) in TELLING.items():
        file = root / "roles/parrot" / name
        text = file.read_text()
        assert text.count(old) == 1
        file.write_text(text.replace(old, new))
    program = root / "roles/parrot/files/parrot.py"
    program.write_text(
        program.read_text()
        .replace("import sys\n", "import os\nimport sys\n", 1)
        .replace("\n\nclass", f"\n{TOLD}\n\n\nclass", 1)
    )
    client, study = root / "playbooks/clients/heap-asking", root / "playbooks/studies/parrot.yml"
    client.mkdir(parents=True)
    (client / "client.yml").write_text(json.dumps(HEAP_ASKING))
    (client / "ask.sh").write_text(ASK_HEAP)
    study.write_text(json.dumps(STUDY))
    return client, study


@pytest.fixture(scope="module")
def served(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """The lab with the new server on its workers, and the inventory that lists it."""
    root, mine = lab.player.project.root, tmp_path_factory.mktemp("served")
    shutil.copytree(root / "inventory/virtual", mine, dirs_exist_ok=True)
    with (mine / "group_vars/all/lab.yml").open("a") as file:
        file.write(LISTED)
    client, study = write_telling_role(root)
    try:
        lab.play("site.yml", inventory=[mine])
        yield [mine]
    finally:
        shutil.rmtree(root / "roles/parrot")
        shutil.rmtree(client)
        study.unlink()
        for worker in lab.workers:
            gone = f"systemctl disable --now {UNIT}; rm -f /etc/systemd/system/{UNIT}"
            lab.output(worker, f"{gone} /opt/rackbench/parrot.py; systemctl daemon-reload")
        lab.play("site.yml")


def test_site_changes_nothing_the_second_time(lab: Lab, served: list[Path]) -> None:
    assert lab.play("site.yml", inventory=served).changed == {}


@pytest.mark.journal(UNIT, "worker1")
@pytest.mark.journal(RUNNER, "client1")
def test_a_program_finds_it_by_name_and_its_calls_are_sealed(lab: Lab, served: list[Path]) -> None:
    place = "$(readlink -f /opt/rackbench/programs)/asking"
    lab.output("client1", f"mkdir {place} && chmod 0755 {place}")
    try:
        for name, text in (("client.yml", json.dumps(MANIFEST)), ("ask.sh", ASK)):
            lab.ssh("client1", f"sudo sh -c 'cat > {place}/{name}'", given=text.encode())
        (one,) = run(lab, Planned("asking", {"any": 1}, needs=["parrot"]))
    finally:
        lab.output("client1", f"rm -r {place}")
    assert (one.outcome, one.reason) == ("ok", "")
    assert [row["status"] for row in one.rows] == ["ok"] * 3
    assert [*one.record["services"]] == ["parrot on worker1"]


@pytest.mark.journal(UNIT, "worker1")
@pytest.mark.parametrize("profile", ["demo", "of-all"])
def test_each_trial_of_a_study_has_the_setting_that_it_asks_the_server_for(
    lab: Lab, served: list[Path], profile: str
) -> None:
    words = {"study": "parrot", "profile": profile, "run": f"parrot-{profile}"}
    lab.play("sweep.yml", words, inventory=served)
    trials = [*lab.player.project.results(words["run"]).glob("trials/*/trial.json")]
    assert len(trials) == 4
    for seal in trials:
        record = json.loads(seal.read_text())
        rows = seal.with_name("calls.csv").read_text().splitlines()[1:]
        assert {row.split(",")[7] for row in rows} == {str(record["factors"]["heap"])}
    checked = lab.player.project.collect("check", words["run"])
    assert "4 of 4 trials sealed and verified; no findings" in checked.stdout
    lab.play("site.yml", inventory=served)
    said = lab.output("worker1", f"systemctl show -P Environment {UNIT}")
    assert "HEAP=8" in said


def test_the_node_says_whether_it_is_up(lab: Lab, served: list[Path]) -> None:
    assert state(lab) == "up"
    lab.output("worker1", f"systemctl kill --signal=STOP {UNIT}")
    try:
        assert state(lab) == "silent"
    finally:
        lab.output("worker1", f"systemctl kill --signal=CONT {UNIT}")
    lab.output("worker1", f"systemctl stop {UNIT}")
    try:
        assert state(lab) == "down"
    finally:
        lab.output("worker1", f"systemctl start {UNIT}")


def state(lab: Lab) -> str:
    """What the health service of the first worker says of the new server."""
    address = f"http://{lab.nodes['worker1']}:9102/"
    told = json.loads(lab.output("client1", f"curl --silent --fail {address}"))
    return str(told["services"]["parrot"]["state"])
