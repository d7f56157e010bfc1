"""A sweep in which each block has a start of its own of the services, and who may ask for that.

Two trials with a profiler follow its four that count.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from labs import RUNNER, Lab

RUN = "blocks"
NEEDED = {"soap": {"tomcat on worker1"}, "jms": {"broker on broker1", "sort-worker on worker1"}}
SIGNED_WITH = "/etc/rackbench/restart.password"


@pytest.fixture(scope="module")
def everything(lab: Lab) -> list[dict[str, Any]]:
    """All trials in plan order."""
    lab.play("sweep.yml", {"study": "sort", "profile": "blocks", "run": RUN})
    paths = (lab.player.project.results(RUN) / "trials").glob("*/trial.json")
    return sorted(
        (json.loads(path.read_text()) for path in paths), key=lambda record: record["position"]
    )


@pytest.fixture(scope="module")
def swept(everything: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The trials that count."""
    return everything[:4]


@pytest.mark.journal(RUNNER, "client1")
@pytest.mark.journal("rackbench-restart", "worker1")
def test_each_block_has_its_own_start_of_each_service(swept: list[dict[str, Any]]) -> None:
    assert [record["outcome"] for record in swept] == ["ok"] * 4
    starts: dict[str, dict[int, str]] = {}
    for record in swept:
        assert set(record["services"]) == NEEDED[record["factors"]["transport"]]
        for service, start in record["services"].items():
            assert starts.setdefault(service, {}).setdefault(record["block"], start) == start
    assert {service: len(set(ids.values())) for service, ids in starts.items()} == {
        service: 2 for services in NEEDED.values() for service in services
    }


def test_they_are_warmed_by_calls_that_no_log_has(swept: list[dict[str, Any]]) -> None:
    for record in swept:
        # A hundred measured calls and one of warm-up, and those around them that keep the load;
        # whoever is first in its block says the rest.
        warmup, cooldown = record["warmup"], record["cooldown"]
        assert record["calls_rows"] == warmup["rows"] + 100 + cooldown["rows"]
        assert warmup["calls"] == 1
        assert warmup["rows"] <= 1 + warmup["lead_calls"]
        made = record["block_starts"]
        if record["position"] % 2:
            assert set(made[0]["restarted"]) == NEEDED["soap"] | NEEDED["jms"]
            assert made[0]["warm_cells"] == 2
            assert made[0]["warm_calls"] >= 2
        else:
            assert made == []


def test_the_proof_and_the_report_say_so(lab: Lab, swept: list[dict[str, Any]]) -> None:
    assert swept
    proof = lab.player.project.collect("check", RUN)
    assert "6 of 6 trials sealed and verified; no findings" in proof.stdout
    page = (lab.player.project.results(RUN) / "report.html").read_text()
    assert "one for each block: the runner restarted the services before it" in page


@pytest.mark.journal("rackbench-profile", "worker1")
def test_the_profiler_sees_the_services_own_work_in_trials_that_never_count(
    lab: Lab, everything: list[dict[str, Any]]
) -> None:
    counted, profiled = everything[:4], everything[4:]
    assert len(profiled) == 2
    assert not any(record["profiles"] for record in counted)
    assert {tuple(record["jvm"]["options"]) for record in profiled} == {
        tuple(record["jvm"]["options"]) for record in counted
    }
    for record in profiled:
        found = {one["service"]: one for one in record["profiles"]}
        assert [one["missing"] for one in found.values()] == [""] * len(found)
        needed = {service.split()[0] for service in NEEDED[record["factors"]["transport"]]}
        assert set(found) == {*needed, f"sort-{record['factors']['transport']}"}
        directory = lab.player.project.results(RUN) / "trials" / record["id"]
        for name, frame in (("tomcat", "org/apache/"), ("broker", "com/sun/messaging/")):
            if name in found:
                assert frame in (directory / found[name]["stacks"]).read_text()
        for one in found.values():
            assert one["recording"] == f"{one['node']}-{one['service']}.jfr"
            command = ["jfr", "summary", str(directory / one["recording"])]
            summary = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            assert int(summary.partition("jdk.ExecutionSample ")[2].split()[0]) > 0
    for node in ("worker1", "broker1"):
        seen = lab.output(node, "grep -l libasyncProfiler /proc/[0-9]*/maps || true")
        assert seen == "", f"a service on {node} still has the profiler"


def status(lab: Lab, path: str, *header: str) -> str:
    """What worker1 makes of a request for the restart, or a profile, of its Tomcat."""
    url = f"http://{lab.nodes['worker1']}:9102/{path}"
    start = lab.output("worker1", "readlink /run/systemd/units/invocation:rackbench-tomcat.service")
    body = json.dumps({path: {"tomcat": start.strip()}, "action": "start"})
    given = " ".join(f"-H '{text}'" for text in header)
    return lab.output(
        "client1",
        f"curl --silent -o /dev/null -w '%{{http_code}}' {given} --data '{body}' {url}",
    )


@pytest.mark.parametrize("path", ["restart", "profile"])
def test_only_who_knows_the_password_may_restart_or_profile_what_is_well(
    lab: Lab, path: str
) -> None:
    before = lab.output("worker1", "systemctl show -P InvocationID rackbench-tomcat.service")
    assert status(lab, path) == "403"
    assert status(lab, path, "Authorization: " + 64 * "0") == "403"
    assert (
        lab.output("worker1", "systemctl show -P InvocationID rackbench-tomcat.service") == before
    )
    loaded = "grep -l libasyncProfiler /proc/[0-9]*/maps || true"
    assert lab.output("worker1", loaded) == ""
    assert lab.output("worker1", f"stat -c '%U %G %a' {SIGNED_WITH}") == "root root 640"
    assert lab.output("client1", f"stat -c '%U %G %a' {SIGNED_WITH}") == "root rackbench 640"
