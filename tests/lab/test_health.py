"""What the runner makes of services that end, stay away or come back, during real sweeps."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import machine
import pytest
from labs import RUNNER, Lab

PORT = 9102
SERVICES = {
    "client": set(),
    "broker": {"broker"},
    "worker": {"tomcat", "sort-worker", "matrix-worker", "tcp-server"},
}


def report(lab: Lab, node: str) -> dict[str, Any]:
    """What the health socket of a node says, asked from another node."""
    asked = lab.output("client1", f"curl --silent --show-error http://{lab.nodes[node]}:{PORT}/")
    answer: dict[str, Any] = json.loads(asked)
    return answer


def state(lab: Lab, run: str) -> dict[str, Any]:
    """The runner's own account of a run; empty before it has begun."""
    text = lab.output("client1", f"cat /var/lib/rackbench/runs/{run}/state.json 2>/dev/null || :")
    return json.loads(text) if text else {}


def sealed(lab: Lab, run: str) -> dict[str, dict[str, Any]]:
    trials = lab.player.project.results(run) / "trials"
    paths = trials.glob("*/trial.json")
    return {path.parent.name: json.loads(path.read_text()) for path in paths}


@pytest.mark.parametrize("node", ["client1", "broker1", "worker1"])
def test_a_node_says_which_services_run_and_answer(lab: Lab, node: str) -> None:
    answer = report(lab, node)
    assert answer["node"] == node
    wanted = SERVICES[node.rstrip("12345")]
    assert wanted <= set(answer["services"])
    up = {name for name, service in answer["services"].items() if service["state"] == "up"}
    assert wanted <= up
    assert answer["disk_free_mb"] > 0
    assert answer["machine"]["load1"] >= 0
    assert answer["machine"]["cpu_ticks"] > answer["machine"]["steal_ticks"] >= 0
    assert answer["machine"]["retransmits"] >= 0


def tomcat_cpu(lab: Lab, node: str) -> int:
    """Microseconds of processor time of Tomcat, as the kernel counts them on the node."""
    group = "system.slice/rackbench-tomcat.service/cpu.stat"
    said = lab.output(node, f"cd /sys/fs/cgroup; cat {group} unified/{group} 2>/dev/null || :")
    return int(said.split()[1])


def test_what_a_service_used_is_what_the_kernel_counts(lab: Lab) -> None:
    address = lab.nodes["worker1"]
    before = tomcat_cpu(lab, "worker1")
    since = report(lab, "worker1")["sampled_ns"]
    lab.output("client1", f"curl -s -o /dev/null 'http://{address}:8080/none[1-4000]'; sleep 1.3")
    asked = f"curl -sS 'http://{address}:{PORT}/resources?since={since}'"
    told: dict[str, Any] = json.loads(lab.output("client1", asked))
    after = tomcat_cpu(lab, "worker1")
    samples = told["series"]["tomcat"]
    cpu, resident = told["columns"].index("cpu_us"), told["columns"].index("rss_bytes")
    used = samples[-1][cpu] - samples[0][cpu]
    # The first sample may be 0.2 s older than what was read before it.
    assert used > 20_000
    assert abs(used - (after - before)) < 0.1 * used + 50_000
    pid = lab.output("worker1", "systemctl show -P MainPID rackbench-tomcat")
    rss = int(lab.output("worker1", f"ps -o rss= -p {pid}")) * 1024
    assert abs(samples[-1][resident] - rss) < 0.05 * rss
    node = told["series"][""]
    sent = told["columns"].index("tx_bytes")
    assert node[-1][cpu] - node[0][cpu] >= used
    assert node[-1][sent] - node[0][sent] > 4000 * 100  # an answer has at least so many bytes
    assert (
        told["boot"]
        == json.loads(
            lab.output("client1", f"curl -sS http://{lab.nodes['client1']}:{PORT}/resources")
        )["boot"]
    )  # virtual nodes share a kernel


def settings(lab: Lab, node: str) -> dict[str, Any]:
    """What a node says of the settings of its services, asked from the client."""
    asked = lab.output("client1", f"curl -sS http://{lab.nodes[node]}:{PORT}/settings")
    told: dict[str, Any] = json.loads(asked)["settings"]
    return told


def test_both_sides_of_a_comparison_run_with_the_same_settings(lab: Lab) -> None:
    worker, broker = settings(lab, "worker1"), settings(lab, "broker1")["broker"]
    told = [*(worker[name] for name in SERVICES["worker"]), broker]
    heaps = {word for one in told for word in one["options"] if word.startswith("-Xm")}
    assert len(heaps) == 2  # -Xms and -Xmx, alike for all
    for one in told:
        assert {"-XX:+UseParallelGC", "-XX:+AlwaysPreTouch"} <= set(one["options"])
    assert worker["tomcat"]["collector"].startswith("PS ")
    assert worker["tomcat"]["maxThreads"] == worker["hello-listener"]["arguments"]["--sessions"]


def test_consumers_are_fed_as_the_broker_does_by_default(lab: Lab) -> None:
    assert settings(lab, "broker1")["broker"]["queues"]["Consumer Flow Limit"] == "1000"
    factory = settings(lab, "client1")["connection factory"]
    assert (factory["imqConsumerFlowLimit"], factory["imqConsumerFlowLimitPrefetch"]) == (
        "1000",
        "true",
    )


def test_the_health_service_is_confined(lab: Lab) -> None:
    report(lab, "worker1")  # starts it
    unit = "rackbench-health.service"
    said = lab.output("worker1", f"systemd-analyze security --no-pager {unit} | tail -n 1")
    exposure = re.search(r": ([\d.]+) ", said)
    assert exposure
    assert float(exposure.group(1)) <= 3.0
    pid = lab.output("worker1", f"systemctl show -P MainPID {unit}")
    assert lab.output("worker1", f"stat -c %u /proc/{pid}") != "0"
    listens = lab.output("worker1", f"ss -Hltn 'sport = {PORT}'").split()
    assert f"{lab.nodes['worker1']}:{PORT}" in listens


def test_a_node_answers_however_often_its_health_service_was_started(lab: Lab) -> None:
    ask = f"curl --silent --show-error --fail -o /dev/null http://{lab.nodes['worker1']}:{PORT}/"
    restart = f"systemctl restart rackbench-health.socket && {ask}"
    lab.output("worker1", f"for _ in $(seq 20); do {restart} || exit; done; {ask}")
    assert report(lab, "worker1")["node"] == "worker1"


def test_how_a_service_ended_is_noted(lab: Lab) -> None:
    before = report(lab, "worker1")["services"]["tcp-server"]
    lab.output("worker1", "systemctl kill --signal=KILL rackbench-tcp-server.service")

    def back() -> dict[str, Any] | None:
        now: dict[str, Any] = report(lab, "worker1")["services"]["tcp-server"]
        is_new = now["invocation"] != before["invocation"] and now["ends"] > before["ends"]
        return now if now["state"] == "up" and is_new else None

    after = machine.wait_for(back, "the service is back", 120)
    assert after["ended"]["invocation"] == before["invocation"]
    ended = [after["ended"][key] for key in ("result", "code", "status")]
    assert ended == ["signal", "killed", "KILL"]


def ask_for_restart(lab: Lab, node: str, service: str) -> str:
    """What the node's health socket makes of it, as an HTTP status."""
    url = f"http://{lab.nodes[node]}:{PORT}/restart/{service}"
    return lab.output("client1", f"curl --silent -o /dev/null -w '%{{http_code}}' -X POST {url}")


def test_only_a_worker_that_hangs_is_restarted(lab: Lab) -> None:
    before = report(lab, "worker2")["services"]
    assert ask_for_restart(lab, "worker2", "health") == "404"
    assert ask_for_restart(lab, "worker2", "../tomcat") == "404"
    assert ask_for_restart(lab, "worker2", "tomcat") == "202"  # it is well
    lab.output("worker2", "systemctl kill --signal=STOP rackbench-sort-worker.service")

    def judged() -> bool:
        return ask_for_restart(lab, "worker2", "sort-worker") == "202"

    machine.wait_for(judged, "the node looks at the worker")

    def restarted() -> bool:
        now = report(lab, "worker2")["services"]["sort-worker"]
        return now["state"] == "up" and now["ends"] > before["sort-worker"]["ends"]

    machine.wait_for(restarted, "the worker is started again", 120)
    after = report(lab, "worker2")["services"]
    others = set(after) - {"sort-worker"}
    assert {name: after[name]["invocation"] for name in others} == {
        name: before[name]["invocation"] for name in others
    }


def struck_by(lab: Lab, signal: str, run: str, profile: str) -> dict[str, Any]:
    """A sweep of one trial, and a signal to its Tomcat while it runs; what trial.json says."""
    with lab.phase(f"sweep.yml, and Tomcat gets SIG{signal} during a trial"):
        process, log = lab.player.start(
            "sweep.yml", {"study": "sort", "profile": profile, "run": run}
        )
        try:
            machine.wait_for(
                lambda: state(lab, run).get("running") or process.poll() is not None,
                "a trial runs",
                300,
            )
            lab.output("worker1", f"systemctl kill --signal={signal} rackbench-tomcat.service")
            code = process.wait(300)
        finally:
            lab.output("worker1", "systemctl kill --signal=CONT rackbench-tomcat.service")
            if process.poll() is None:
                machine.kill_group(process)
    assert code == 0, log.read_text()[-4000:]
    (record,) = sealed(lab, run).values()
    return record


@pytest.mark.long
@pytest.mark.journal(RUNNER, "client1")
@pytest.mark.journal("rackbench-health", "worker1")
@pytest.mark.journal("rackbench-restart", "worker1")
def test_a_server_that_hangs_is_restarted_and_the_trial_repeated(lab: Lab) -> None:
    record = struck_by(lab, "STOP", "hung", "hung")
    # How the second attempt ends depends on how fast this machine starts Tomcat.
    assert (record["attempt"], len(record["earlier_attempts"])) == (2, 1)
    assert "tomcat on worker1 ended (signal killed KILL)" in record["earlier_attempts"][0]["reason"]
    assert [restart["service"] for restart in record["restarts"]] == ["tomcat on worker1"]
    proof = lab.player.project.collect("check", "hung")
    assert proof.returncode == 0, proof.stdout
    page = (lab.player.project.results("hung") / "report.html").read_text()
    assert "tomcat on worker1 hung and was restarted before it" in page
    told = json.loads(lab.player.project.collect("status", "hung", "--json").stdout)
    assert told["nodes"]["worker1"]["services"]["tomcat"]["state"] == "up"


@contextmanager
def stopped(lab: Lab, node: str, unit: str) -> Iterator[None]:
    """A service that systemd does not start again, until the end."""
    lab.output(node, f"systemctl stop {unit}")
    try:
        yield
    finally:
        lab.output(node, f"systemctl start {unit}")


@pytest.mark.journal(RUNNER, "client1")
def test_a_trial_whose_server_was_killed_is_repeated(lab: Lab) -> None:
    record = struck_by(lab, "KILL", "killed", "one-long-soap")
    assert (record["outcome"], record["attempt"]) == ("ok", 2)
    (earlier,) = record["earlier_attempts"]
    assert earlier["attempt"] == 1
    assert "tomcat on worker1 ended (signal killed KILL)" in earlier["reason"]
    assert set(record["interference"]) == {"client1", "worker1"}
    assert state(lab, "killed")["thrown_away"] == 1
    page = (lab.player.project.results("killed") / "report.html").read_text()
    assert "took more than one attempt" in page


@pytest.mark.long
@pytest.mark.journal(RUNNER, "client1")
def test_what_stays_away_puts_off_the_trials_that_need_it(lab: Lab) -> None:
    study = {"study": "sort", "profile": "one-server", "run": "away", "sweep_recover_s": 1}
    with stopped(lab, "worker1", "rackbench-sort-worker.service"):
        outcome = lab.player.attempt("sweep.yml", study)
        assert outcome.code == 2, outcome.excerpt
        assert "sort-worker on worker1 is down" in outcome.flat
        assert "run the same command again" in outcome.flat
    assert [record["factors"]["transport"] for record in sealed(lab, "away").values()] == ["soap"]
    assert len(state(lab, "away")["put_off"]) == 1

    # The service may need longer than that to be ready again.
    lab.play("sweep.yml", {**study, "sweep_recover_s": 120})
    assert {record["outcome"] for record in sealed(lab, "away").values()} == {"ok"}
    assert len(sealed(lab, "away")) == 2
    assert state(lab, "away")["put_off"] == []


@pytest.mark.long
def test_no_trial_starts_after_the_deadline_and_another_run_is_waited_for(lab: Lab) -> None:
    study = {"study": "sort", "profile": "one-server", "run": "late"}
    other = f"systemd-run --unit={RUNNER} --description='rackbench run other' "
    other += "--property=ExecPaths=/usr/bin/sleep sleep 600"
    lab.output("client1", other)
    refused = lab.player.attempt("sweep.yml", study)
    assert refused.code == 2
    assert "client1 is busy: rackbench run other since" in refused.flat
    kept = lab.player.attempt("lab_down.yml")
    assert kept.code == 2
    assert "A sweep runs on client1. Wait for its end" in kept.flat
    lab.output("client1", f"systemd-run --on-active=10 systemctl stop {RUNNER}")
    late = {**study, "wait": True, "deadline": "2026-01-01T00:00"}
    outcome = lab.play("sweep.yml", late)
    assert "the deadline came, 2 trials are open" in outcome.flat
    assert state(lab, "late")["state"] == "deadline"
    assert sealed(lab, "late") == {}


def test_a_deadline_that_is_no_time_is_refused(lab: Lab) -> None:
    study = {"study": "sort", "profile": "one-server", "run": "never", "deadline": "soon"}
    outcome = lab.player.attempt("sweep.yml", study)
    assert outcome.code == 2
    assert "deadline is 'soon', which is not a time" in outcome.flat
    assert not lab.player.project.results("never").exists()
