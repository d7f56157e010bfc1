"""Trials of what cannot be: an outcome with its reason in bounded time, and the next is good."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import inside
import machine
import pytest
from labs import Lab
from messages import body, envelope
from probe import Probe
from services import BROKER, LISTENER, MATRIX_WORKER, TOMCAT, serves
from trials import Planned, Sealed, run

HELLO = envelope('<h:hello xmlns:h="urn:rackbench:hello"><text>Hello</text></h:hello>')


def hello(binding: str, **factors: Any) -> Planned:
    return Planned(
        f"hello-{binding}",
        {"binding": binding, "message_bytes": 512, "pooled": True, **factors},
        {"delivery": "persistent", "acknowledge": "dups-ok"},
    )


def matrix(encoding: str, n: int, **constants: Any) -> Planned:
    return Planned(
        "matrix-jms" if encoding == "jms" else "matrix-soap",
        {"encoding": encoding, "matrix": n},
        {"delivery": "persistent", "acknowledge": "auto", **constants},
    )


def assert_ok(*trials: Sealed) -> None:
    for trial in trials:
        assert trial.outcome == "ok", trial.reason
        assert {row["status"] for row in trial.rows} == {"ok"}, trial.record["errors"]


# First what is good


@pytest.mark.journal(TOMCAT, "worker1")
@pytest.mark.journal(MATRIX_WORKER, "worker1")
def test_matrices_are_about_as_long_on_the_wire_as_the_papers(lab: Lab, long_form: bool) -> None:
    sizes = (50, 10) if long_form else (50,)
    kinds = ("xml", "mime", "dime", "jms")
    trials = run(lab, *(matrix(kind, n) for n in sizes for kind in kinds))
    assert_ok(*trials)  # each answer compared bit for bit
    by_size = [trials[first : first + 4] for first in range(0, len(trials), 4)]
    for n, (xml, mime, dime, jms) in zip(sizes, by_size, strict=True):
        numbers = 4 * n * n + 10 * n
        assert 950 < dime.request_bytes(headers=True) - numbers < 1150
        assert 150 < mime.request_bytes() - dime.request_bytes() < 320
        assert 250 < mime.request_bytes(headers=True) - dime.request_bytes(headers=True) < 400
        assert jms.request_bytes() == numbers + 41
        if n == 50:
            assert xml.request_bytes() / dime.request_bytes() >= 6


@pytest.mark.journal(LISTENER, "worker1")
@pytest.mark.parametrize("pooled", [True, False])
def test_hello_answers_over_both_bindings(lab: Lab, pooled: bool) -> None:
    bindings = ("http", "jms")
    trials = run(lab, *(hello(binding, pooled=pooled) for binding in bindings))
    assert_ok(*trials)
    assert {trial.request_bytes() for trial in trials} == {512}


def ports(lab: Lab, settings: dict[str, str]) -> dict[str, str]:
    """Set how the client node chooses the ports of its connections; how it was."""
    before = {}
    with inside.network(lab):
        for name, value in settings.items():
            file = Path("/proc/sys/net/ipv4") / name
            before[name] = file.read_text()
            file.write_text(value)
    return before


@contextmanager
def few_ports(lab: Lab) -> Iterator[None]:
    before = ports(lab, {"ip_local_port_range": "40000 40003", "tcp_tw_reuse": "1"})
    try:
        yield
    finally:
        ports(lab, before)


@pytest.mark.journal(MATRIX_WORKER, "worker1")
def test_a_client_with_the_port_of_one_before_it_gets_all_its_replies(lab: Lab) -> None:
    # The broker names a reply queue after the port. By this name it lets a worker send 1000.
    trial = replace(matrix("jms", 10, call_timeout_s=10), calls=700)
    with few_ports(lab):
        assert_ok(*run(lab, *[trial] * 4))


# Levels that no service can serve


def test_what_no_reply_can_be_is_a_failed_trial_that_says_so(lab: Lab) -> None:
    wrong = {
        "0 elements": ("soap", 10, 0),
        "4 elements of a reply of 3 bytes": ("soap", 3, 4),
        "a reply of 1048577 bytes": ("soap", 2**20 + 1, 1),
        "a reply of 2097152 bytes": ("tcp", 2**21, 1),
    }
    trials = run(
        lab,
        *(
            Planned(f"overhead-{protocol}", {"reply_bytes": size, "elements": elements})
            for protocol, size, elements in wrong.values()
        ),
        Planned("overhead-soap", {"reply_bytes": 3, "elements": 3}),
    )
    for trial, said in zip(trials, wrong, strict=False):
        assert trial.outcome == "failed"
        assert said in trial.reason
        assert trial.rows == []
    assert_ok(trials[-1])


# Memory


@pytest.mark.journal(TOMCAT, "worker1")
def test_a_matrix_beyond_the_clients_heap_is_out_of_memory(lab: Lab) -> None:
    big, small = run(lab, matrix("xml", 500, client_heap_mb=24), matrix("dime", 10))
    assert big.outcome == "oom"
    assert_ok(small)


@pytest.mark.journal(TOMCAT, "worker1")
def test_a_matrix_beyond_the_servers_heap_is_told_and_the_next_trial_is_good(lab: Lab) -> None:
    one = replace(matrix("xml", 1000, client_heap_mb=1200), calls=1)
    big, small = run(lab, one, matrix("dime", 10))
    assert big.outcome in ("failed", "oom")
    assert "out of memory" in big.reason + str(big.record["errors"])
    assert "ok" not in {row["status"] for row in big.rows}
    assert_ok(small)


# Messaging


@pytest.mark.parametrize(
    "missing", [("^hello.worker1/", "nowhere/"), ("Content=hello.worker1$", "Content=nowhere")]
)
def test_a_queue_that_does_not_exist_is_a_failed_trial(lab: Lab, missing: tuple[str, str]) -> None:
    # no administered object of its name, or one of a queue that the broker does not have
    (trial,) = run(lab, hello("jms"), store=missing)
    assert trial.outcome == "failed"
    assert trial.rows == []
    assert "nowhere" in trial.reason or "hello.worker1" in trial.reason


@pytest.fixture
def no_broker(lab: Lab, probe: Probe) -> Iterator[Lab]:
    """The broker down, and up again with all its clients afterwards."""
    lab.output("broker1", f"systemctl stop {BROKER}")
    yield lab
    lab.output("broker1", f"systemctl start {BROKER}")

    def all_serve() -> bool:
        sorted_by = [probe.sort(5, node, [2, 1]) for node in lab.workers]
        greeted = probe.exchange(HELLO, *(f"hello.{node}" for node in lab.workers))
        return sorted_by == [(node, [1, 2]) for node in lab.workers] and all(
            body(answer)[0].text == "Hello" for answer in greeted
        )

    machine.wait_for(serves(all_serve), "the workers find the broker again", 120)


@pytest.mark.journal(LISTENER, "worker1")
def test_a_broker_that_is_down_at_the_start_fails_trials_and_is_waited_for(no_broker: Lab) -> None:
    no_broker.output("worker1", f"systemctl restart {LISTENER}")
    sort = Planned(
        "sort-jms",
        {"transport": "jms", "servers": 1, "integers": 10},
        {"delivery": "persistent", "acknowledge": "auto"},
    )
    for trial in run(no_broker, hello("jms"), matrix("jms", 10), sort):
        assert trial.outcome == "failed"
        assert "broker" in trial.reason.lower() or "connect" in trial.reason.lower(), trial.reason
        assert trial.rows == []
    said = no_broker.output("worker1", f"systemctl is-active {LISTENER}; journalctl -u {LISTENER}")
    assert said.startswith("active")
    assert "cannot reach the broker" in said
