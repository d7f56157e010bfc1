"""Clients that are programs, on the nodes of the lab."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from labs import RUNNER, Lab
from project import small_study
from services import TOMCAT
from trials import Planned, run


@pytest.mark.journal(TOMCAT, "worker1")
def test_wrk_calls_the_resource_of_a_worker(lab: Lab) -> None:
    (one,) = run(
        lab,
        Planned("wrk", {"concurrency": 2}, {"path": "/byte", "seconds": 2}, threads=2),
    )
    assert (one.outcome, one.reason) == ("ok", "")
    assert one.rows == []
    said = one.record["program"]["summary"]
    assert said["calls"] > 100
    assert 0 < said["mean_ms"] < 1000
    assert one.record["jvm"] == {}


STUDY = small_study(
    "asked",
    factors={"concurrency": [1, 2]},
    clients="wrk",
    needs=["tomcat"],
    constants={"path": "/byte", "seconds": 1},
    threads="concurrency",
)


@pytest.fixture
def asked(lab: Lab) -> Iterator[str]:
    """A study whose client is a program; its name."""
    file = lab.player.project.root / "playbooks/studies/asked.yml"
    file.write_text(json.dumps(STUDY))
    try:
        yield "asked"
    finally:
        file.unlink()


@pytest.mark.journal(RUNNER, "client1")
def test_a_program_runs_in_a_sweep_whose_runner_is_confined(lab: Lab, asked: str) -> None:
    lab.play("sweep.yml", {"study": asked, "profile": "demo", "run": asked})
    seals = [*lab.player.project.results(asked).glob("trials/*/trial.json")]
    records = [json.loads(seal.read_text()) for seal in seals]
    assert [record["outcome"] for record in records] == ["ok", "ok"]
    assert all(record["program"]["summary"]["calls"] > 100 for record in records)


def test_a_missing_client_of_a_later_study_is_refused_before_the_first_trial(
    lab: Lab, asked: str
) -> None:
    file = lab.player.project.root / "playbooks/studies/absent.yml"
    file.write_text(json.dumps({**STUDY, "study": "absent", "clients": "no-such"}))
    try:
        both = {"study": f"{asked},absent", "profile": "demo", "run": "both"}
        refused = lab.player.attempt("sweep.yml", both)
    finally:
        file.unlink()
    assert refused.code == 2
    said = "client1 cannot run both-absent: /opt/rackbench/clients/no-such: no such client"
    assert said in refused.flat
    assert not lab.player.project.results(f"both-{asked}").exists()


def test_a_program_of_the_kit_may_not_be_changed_by_the_runners_account(lab: Lab) -> None:
    listed = lab.output("client1", "find -L /opt/rackbench/programs/wrk -printf '%U %m %P\\n'")
    assert {line.split()[0] for line in listed.splitlines()} == {"0"}
    assert "0 644 client.yml" in listed.splitlines()


@pytest.mark.journal(RUNNER, "client1")
def test_a_program_that_nobody_here_has_seen_runs_as_a_client(lab: Lab) -> None:
    manifest = json.dumps({"command": ["sh", "count.sh"], "reads": "csv"})
    script = """
set -eu
url=$(python3 -c "import json, sys; print(json.load(open(sys.argv[1]))['workers'][0]['url'])" "$1")
echo start_ns,elapsed_ns,status
for call in 1 2 3; do
  begin=$(date +%s%N)
  [ "$(curl --silent --fail "$url/byte" | wc -c)" = 1 ] && status=ok || status=wrong
  echo "$begin,$(($(date +%s%N) - begin)),$status"
done
"""
    place = "$(readlink -f /opt/rackbench/programs)/unseen"
    lab.output("client1", f"mkdir {place} && chmod 0755 {place}")
    try:
        for name, text in (("client.yml", manifest), ("count.sh", script)):
            lab.ssh("client1", f"sudo sh -c 'cat > {place}/{name}'", given=text.encode())
        (one,) = run(lab, Planned("unseen", {"any": 1}))
    finally:
        lab.output("client1", f"rm -r {place}")
    assert (one.outcome, one.reason) == ("ok", "")
    assert [row["status"] for row in one.rows] == ["ok"] * 3
