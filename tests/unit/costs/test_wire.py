"""Trials whose packets are kept: planned behind all others, never counted, read and shown."""

import hashlib
import json
import struct

import pytest
from made_up_studies import changed
from synthetic import edit_json, make_run, spread

from collect.cells.analysis import analyse
from collect.cli import main
from collect.costs.packets import PacketsError, measured, read_packets
from collect.costs.wire import NONE_SEEN, wires_of
from collect.run.directory import open_run
from collect.run.plan import make_plan, plan_bytes
from collect.run.study import parse_study

TEXT = changed(
    study="orders",
    factors={"transport": ["soap", "jms"], "servers": [1], "integers": [500]},
    replicates=2,
    calls=8,
    warmup=2,
    where=[],
    profile_forks=1,
)
PORT, MTU = 8080, 1500
SYN, ACK = 2, 16
FILE = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 120, 101)


def packet(*, is_out=True, number=0, payload=0, flags=ACK, size=20, fill=0):
    """A packet as the file holds it: between a client's port and a service's."""
    ends = (40_000, PORT) if is_out else (PORT, 40_000)
    places = (b"\x0a\0\0\x0b", b"\x0a\0\0\x15") if is_out else (b"\x0a\0\0\x15", b"\x0a\0\0\x0b")
    total = 20 + size + payload
    ip = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0, total if total < 1 << 16 else 0, 0, 0, 64, 6, 0, *places
    )
    tcp = struct.pack("!HHIIBBHHH", *ends, number, 0, size // 4 << 4, flags, 0, 0, 0)
    headers = ip + tcp + bytes(size - 20)
    return struct.pack("<IIII", 1_700_000_000, 5, len(headers), total + fill) + headers


# One connection, two requests and two answers; the second request was sent twice.
CALL = [
    packet(flags=SYN, size=40),
    packet(is_out=False, flags=SYN | ACK, size=40),
    packet(number=1),
    packet(number=1, payload=2920),
    packet(is_out=False, number=1, payload=100),
    packet(number=2921, payload=50),
    packet(number=2921, payload=50),
    packet(is_out=False, number=101, fill=6),
    packet(is_out=False, number=101, payload=10),
    packet(is_out=False, number=111, payload=10),
]


def of(packets):
    return FILE + b"".join(packets)


def add_capture(directory, kept=CALL, **said):
    """Seal packets with a trial."""
    content = of(kept)
    (directory / "capture.pcap").write_bytes(content)
    capture = {
        "missing": "",
        "packets": len(kept),
        "seen": len(kept),
        "dropped": 0,
        "mtu": MTU,
        "ports": [PORT],
        "file": "capture.pcap",
        "sha256": hashlib.sha256(content).hexdigest(),
        **said,
    }
    edit_json(directory / "trial.json", capture=capture)


def refuse(directory, capture):
    """Have a trial say so of its packets, and be without them."""
    (directory / "capture.pcap").unlink(missing_ok=True)
    edit_json(directory / "trial.json", capture=capture)


def times(planned, rng):
    return spread(10.0, planned, rng)


@pytest.fixture
def run(tmp_path):
    """A run of two cells; of each a call whose packets were kept."""
    directory = tmp_path / "night"
    for planned in make_run(directory, times, profile="paper", study=TEXT, capture=True):
        if planned.captured:
            add_capture(directory / "trials" / planned.id)
    return directory


def captured(run, transport="soap"):
    trials = open_run(str(run)).captured
    name = next(trial.id for trial in trials if trial.factors["transport"] == transport)
    return run / "trials" / name


def wires_of_run(run):
    analysis = analyse(open_run(str(run)))
    return wires_of(analysis.run, analysis.captured)


def wire(run, transport="soap"):
    wires = wires_of_run(run)
    return next(one for one in wires if one.cell["transport"] == transport)


def test_captured_trials_come_last_make_one_call_and_change_no_other():
    profile = parse_study(TEXT, "orders").profile("paper", 5)
    plain, with_them = make_plan(profile), make_plan(profile, capture=True)
    assert plan_bytes(with_them).startswith(plan_bytes(plain))
    further = with_them[len(plain) :]
    assert [trial.id[:3] for trial in further] == ["c04", "c04"]
    assert {(t.captured, t.profiled, t.counts, t.calls, t.warmup, t.threads) for t in further} == {
        (True, False, False, 1, 1, 1)
    }


def test_a_call_is_counted_in_round_trips_packets_and_bytes(run):
    found = wire(run).wire
    assert (found.connections, found.round_trips, found.resent) == (1, 2, 1)
    assert found.packets == len(CALL) + 1  # 2920 bytes are three packets of 1460 or less: two
    assert (found.sent, found.received) == (2920 + 50 + 50, 100 + 10 + 10)
    assert found.headers == 2 * 60 + (len(CALL) - 2 + 1) * 40
    assert not found.is_part


def test_long_packets_and_ports_that_are_used_again_are_counted_rightly():
    numbers = [(1 << 32) - 50, 50, 70_050]
    packets = read_packets(
        of(
            packet(number=n % (1 << 32), payload=p)
            for n, p in zip(numbers, (100, 70_000, 10), strict=True)
        )
    )
    assert [one.payload for one in packets] == [100, 70_000, 10]
    found = measured(packets, frozenset({PORT}), MTU)
    assert (found.resent, found.packets) == (0, 1 + 48 + 1)
    later = [packet(flags=SYN, number=9), packet(number=10, payload=5)]
    again = read_packets(of([*later, packet(flags=SYN, number=1), packet(number=2, payload=5)]))
    found = measured(again, frozenset({PORT}), None)
    assert (found.connections, found.resent, found.packets, found.round_trips) == (2, 0, 4, 0)


def test_counted_trials_and_cells_are_those_of_a_run_without(run, tmp_path):
    make_run(tmp_path / "plain", times, profile="paper", study=TEXT)
    with_them, plain = (analyse(open_run(str(path))) for path in (run, tmp_path / "plain"))
    assert [cell.mean for cell in with_them.cells] == [cell.mean for cell in plain.cells]
    assert with_them.sealed == plain.sealed == 4
    assert not wires_of(plain.run, plain.captured)


def test_the_check_proves_them_and_the_report_shows_them_with_gaps(run, capsys):
    add_capture(captured(run, "jms"), seen=2345)
    assert main(["check", str(run)]) == 0
    assert "8 of 8 trials sealed and verified; no findings" in capsys.readouterr().out
    refuse(captured(run), {"missing": "the kernel refuses"})
    assert main(["report", str(run)]) == 0
    page = (run / "report.html").read_text()
    assert "sent again (packets)" in page
    assert "the kernel refuses" in page
    assert "≥ 2" in page
    assert f"trials/{captured(run, 'jms').name}/capture.pcap" in page


def test_what_was_changed_after_sealing_is_found_and_not_shown(run, capsys):
    path = captured(run) / "capture.pcap"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert main(["check", str(run)]) == 1
    assert "capture.pcap has the SHA-256" in capsys.readouterr().out
    assert wire(run).wire is None
    assert "changed after sealing" in wire(run).gap
    assert wire(run, "jms").wire is not None


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"packets": 9}, "has 10 packets, but trial.json says 9"),
        ({"seen": 9}, "has 10 packets, but trial.json says 10 of 9"),
        ({"ports": [22]}, "but no service has it"),
        ({"sha256": None}, "trial.json says none"),
    ],
)
def test_a_seal_that_contradicts_the_file_is_refused(run, said, text):
    add_capture(captured(run), **said)
    assert text in wire(run).gap


def test_what_is_missing_is_a_gap_with_its_reason_and_never_a_zero(run):
    directory = captured(run)
    path = directory / "trial.json"
    record = json.loads(path.read_text())
    for capture, text in (
        ({"missing": "the kernel refuses a packet socket"}, "the kernel refuses a packet socket"),
        (None, "the runner is of an earlier version"),
    ):
        refuse(directory, capture)
        assert main(["check", str(run)]) == 0
        assert wire(run).wire is None
        assert text in wire(run).gap
    add_capture(directory)
    path.write_text(json.dumps({**record, "outcome": "failed", "reason": "refused"}))
    assert "its call was not ok: failed (refused)" in wire(run).gap
    path.write_text(json.dumps(record))
    add_capture(directory, [])
    assert wire(run).gap == NONE_SEEN


def test_a_file_without_a_seal_is_a_finding(run, capsys):
    edit_json(captured(run) / "trial.json", capture={"missing": "refused"})
    assert main(["check", str(run)]) == 1
    assert "trial.json has no seal of it" in capsys.readouterr().out


def test_more_packets_than_were_kept_make_each_number_the_least(run):
    add_capture(captured(run), seen=2345)
    assert wire(run).wire.is_part
    assert wire(run).wire.packets == 2345 + 1
    add_capture(captured(run), dropped=1)
    assert wire(run).wire.is_part


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "ends within its first header"),
        (b"\xd4\xc3\xb2\xa1" + FILE[4:], "is not a pcap file of version 2.4"),
        (FILE[:20] + struct.pack("<I", 1), "has link type 1"),
        (of([packet()])[:-1], "packet 1 is cut short"),
        (of([packet(), packet()[:9]]), "packet 2 is cut short"),
        (of([packet()] * 101), "has 101 packets"),
        (of([packet()[:16] + b"\x65" + packet()[17:]]), "is not TCP over IPv4"),
        (of([packet()[:25] + b"\x11" + packet()[26:]]), "is not TCP over IPv4"),
        (of([packet()[:48] + b"\x60" + packet()[49:]]), "holds 40 bytes, but its headers need 44"),
        (of([packet()[:8] + struct.pack("<I", 121) + packet()[12:]]), "contradicts itself"),
        (of([packet()[:18] + b"\0\x21" + packet()[20:]]), "fewer than its headers"),
        (of([struct.pack("<IIII", 1, 5, 8, 60) + bytes(8)]), "is not TCP over IPv4"),
    ],
)
def test_a_file_that_is_none_is_refused(content, text):
    with pytest.raises(PacketsError, match=text):
        read_packets(content)


def test_bytes_of_any_kind_are_read_or_refused():
    whole = of(CALL)
    for place in range(len(whole)):
        broken = bytearray(whole)
        broken[place] ^= 0xFF
        try:
            packets = read_packets(bytes(broken))
        except PacketsError:
            continue
        assert len(packets) == len(CALL)
