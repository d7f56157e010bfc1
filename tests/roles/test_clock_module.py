"""Time servers that answer or not, and the drop-in of whichever daemon is there."""

import json
import os
import socket
import threading
from fnmatch import fnmatch

import pytest
from loading import load

MODULE = "roles/baseline/library/clock.py"
CHRONY, NTPSEC, TIMESYNCD = range(3)
DEBIAN_CHRONY = (
    "confdir /etc/chrony/conf.d\npool pool.lab iburst\nsourcedir /etc/chrony/sources.d\n"
)


@pytest.fixture
def clock(monkeypatch):
    module = load(MODULE)
    monkeypatch.setattr(module, "ANSWER_S", 0.2)
    return module


@pytest.fixture
def systemd(clock, monkeypatch):
    """Returns how to have a node's systemd know these units, each by its three states."""

    def have(known, listed="", run=None):
        def states(*units):
            names = ("LoadState", "UnitFileState", "ActiveState")
            told = [known.get(unit, "not-found  inactive").split(" ") for unit in units]
            return [
                {"Id": unit, **dict(zip(names, states, strict=True))}
                for unit, states in zip(units, told, strict=True)
            ]

        def output(*argv):
            return listed if any(fnmatch(listed.split(" ")[0], one) for one in argv) else ""

        for name, instead in (("states", states), ("output", output), ("run", run)):
            monkeypatch.setattr(clock.host, name, instead)

    return have


@pytest.mark.parametrize(
    ("first_bytes", "refusal"),
    [
        (b"\x24\x02", ""),
        (b"\xe4\x02", "127.0.0.1 answers, but has no valid time"),
        (b"\x24\x0f", ""),
        (b"\x24\x10", "127.0.0.1 answers, but has no valid time"),
        (b"\x24\x00", "127.0.0.1 answers, but has no valid time"),
        (b"", "127.0.0.1 does not answer on UDP port"),
    ],
)
def test_a_server_is_of_use_when_it_gives_the_time(clock, monkeypatch, first_bytes, refusal):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        monkeypatch.setattr(clock, "NTP_PORT", server.getsockname()[1])

        def answer():
            _, asker = server.recvfrom(512)
            server.sendto(first_bytes + bytes(48 - len(first_bytes)), asker)

        if first_bytes:
            threading.Thread(target=answer, daemon=True).start()
        said = clock.refusal("127.0.0.1")
    assert said.startswith(refusal)
    assert bool(said) == bool(refusal)


def test_what_is_no_server_is_named(clock):
    assert clock.refusal("a b") == "'a b' is neither a name nor an address"


@pytest.mark.parametrize(
    ("message", "synchronized", "is_right"),
    [("{ Leap=0 }", "yes", True), ("", "yes", False), ("{ Leap=0 }", "no", False)],
)
def test_timesyncd_is_right_when_it_heard_a_server_and_told_the_kernel(
    clock, monkeypatch, message, synchronized, is_right
):
    told = {"show": synchronized, "show-timesync": message}
    monkeypatch.setattr(clock.host, "output", lambda *argv: told[argv[1]])
    assert clock.timesyncd_is_right() is is_right


@pytest.mark.parametrize(
    ("daemon", "path", "words"),
    [
        (CHRONY, "etc/chrony/sources.d/rackbench.sources", "server 10.0.0.1 iburst prefer\n"),
        (NTPSEC, "etc/ntpsec/ntp.d/rackbench.conf", "tos minsane 1\nserver 10.0.0.1"),
        (TIMESYNCD, "etc/systemd/timesyncd.conf.d/rackbench.conf", "[Time]\nNTP=10.0.0.1\n"),
    ],
)
def test_the_daemon_that_is_there_gets_a_drop_in(clock, tmp_path, daemon, path, words):
    (tmp_path / "etc/chrony").mkdir(parents=True)
    (tmp_path / "etc/chrony/chrony.conf").write_text(DEBIAN_CHRONY)
    keeper = clock.DAEMONS[daemon]
    assert clock.configure(tmp_path, keeper, ["10.0.0.1"], check=True)
    assert not (tmp_path / path).exists()
    assert clock.configure(tmp_path, keeper, ["10.0.0.1"], check=False)
    assert words in (tmp_path / path).read_text()
    assert not clock.configure(tmp_path, keeper, ["10.0.0.1"], check=False)
    assert clock.configure(tmp_path, keeper, [], check=False)
    assert not (tmp_path / path).exists()
    assert (tmp_path / "etc/chrony/chrony.conf").read_text() == DEBIAN_CHRONY


def test_a_drop_in_of_an_earlier_version_is_removed(clock, tmp_path):
    former = tmp_path / "etc/chrony/conf.d/rackbench.conf"
    former.parent.mkdir(parents=True)
    former.write_text("server 10.0.0.9 iburst prefer\n")
    (tmp_path / "etc/chrony/chrony.conf").write_text(DEBIAN_CHRONY)
    assert clock.configure(tmp_path, clock.DAEMONS[CHRONY], ["10.0.0.1"], check=False)
    assert not former.exists()
    assert (tmp_path / "etc/chrony/sources.d/rackbench.sources").exists()


def test_a_chrony_that_reads_no_drop_in_is_told_with_the_line_to_write(clock, tmp_path):
    (tmp_path / "etc/chrony").mkdir(parents=True)
    (tmp_path / "etc/chrony/chrony.conf").write_text("pool pool.lab iburst\n")
    with pytest.raises(OSError, match=r"write `sourcedir /etc/chrony/sources\.d`"):
        clock.configure(tmp_path, clock.DAEMONS[CHRONY], ["10.0.0.1"], check=False)


def test_the_daemons_account_reads_a_drop_in_of_a_login_with_a_strict_umask(clock, tmp_path):
    before = os.umask(0o077)
    try:
        clock.host.write(tmp_path / "etc/conf.d/rackbench.conf", "NTP=10.0.0.1\n")
    finally:
        os.umask(before)
    assert (tmp_path / "etc/conf.d").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "etc/conf.d/rackbench.conf").stat().st_mode & 0o777 == 0o644


def test_a_daemon_that_runs_is_set_before_one_that_is_only_installed(clock, systemd):
    states = {
        "chrony.service": "loaded disabled inactive",
        "systemd-timesyncd.service": "loaded enabled active",
    }
    systemd(states)
    daemon, *rest = clock.installed()
    assert (daemon.unit, rest) == ("systemd-timesyncd.service", [True, ""])
    states.pop("systemd-timesyncd.service")
    daemon, *rest = clock.installed()
    assert (daemon.unit, rest) == ("chrony.service", [False, ""])


@pytest.mark.parametrize(
    ("state", "recorded"),
    [
        ("disabled inactive", {"enabled": False, "active": False}),
        ("enabled failed", {"enabled": True, "active": False}),
        ("disabled active", {"enabled": False, "active": True}),
        ("enabled active", None),
    ],
)
def test_a_daemon_that_was_off_is_recorded_before_it_is_turned_on(
    clock, systemd, tmp_path, state, recorded
):
    record = tmp_path / "etc/rackbench/found.json"
    called = []

    def run(*argv):
        called.append((argv[2], record.exists()))

    systemd({"chrony.service": f"loaded {state}"}, run=run)
    clock.turn_on(tmp_path, "chrony.service", "restart")
    is_kept = recorded is not None
    assert called == [("enable", is_kept), ("restart", is_kept)]
    if is_kept:
        assert json.loads(record.read_text()) == {"turned_on": {"chrony.service": recorded}}
        systemd({"chrony.service": "loaded enabled active"}, run=run)  # and a second time
        clock.turn_on(tmp_path, "chrony.service", "restart")
        assert json.loads(record.read_text()) == {"turned_on": {"chrony.service": recorded}}


PHC = "phc2sys@eth0.service loaded active running Synchronize system clock\n"
TIMEMASTER = "timemaster.service loaded active running Synchronize system clock to NTP and PTP\n"


@pytest.mark.parametrize(
    ("active", "listed", "said"),
    [
        ("inactive", PHC, "failed: phc2sys@eth0.service keeps the clock here, and a time daemon"),
        ("inactive", TIMEMASTER, "failed: timemaster.service keeps the clock here, and a time"),
        ("active", PHC, "daemon: chrony.service"),
        ("inactive", "", "daemon: chrony.service"),
    ],
)
def test_a_daemon_that_is_off_next_to_a_hardware_clock_stays_off(
    clock, systemd, active, listed, said
):
    """`timedatectl set-ntp false` is how a site with PTP has it."""
    systemd({"chrony.service": f"loaded disabled {active}"}, listed)
    clock.AnsibleModule = lambda **_: Module(state="checked")
    with pytest.raises(SystemExit) as ended:
        clock.main()
    assert str(ended.value).startswith(said)
    assert ("baseline_time_sync: false" in str(ended.value)) == said.startswith("failed")


@pytest.mark.parametrize("unit", ["chrony.service", "ntpsec.service", "systemd-timesyncd.service"])
def test_a_masked_daemon_is_told_before_a_package_conflicts(clock, systemd, tmp_path, unit):
    (tmp_path / clock.VENDOR).mkdir(parents=True)
    (tmp_path / clock.VENDOR / unit).touch()
    systemd({unit: "masked masked inactive"})
    daemon, is_on, why_not = clock.installed(tmp_path)
    assert (daemon, is_on) == (None, False)
    assert why_not.startswith(f"{unit} is masked here")
    assert f"systemctl unmask {unit}" in why_not
    assert "baseline_time_sync: false" in why_not
    # A removed package leaves the mask, and another daemon may be installed.
    (tmp_path / clock.VENDOR / unit).unlink()
    assert clock.installed(tmp_path) == (None, False, "")


def test_a_node_with_a_daemon_next_to_a_masked_one_is_no_refusal(clock, systemd, tmp_path):
    (tmp_path / clock.VENDOR).mkdir(parents=True)
    (tmp_path / clock.VENDOR / "systemd-timesyncd.service").touch()
    systemd(
        {
            "chrony.service": "loaded disabled inactive",
            "systemd-timesyncd.service": "masked masked inactive",
        }
    )
    daemon, *rest = clock.installed(tmp_path)
    assert (daemon.unit, rest) == ("chrony.service", [False, ""])


def test_a_daemon_that_was_installed_and_does_not_run_is_told(clock, monkeypatch):
    monkeypatch.setattr(clock, "installed", lambda: (None, False, ""))
    monkeypatch.setattr(clock, "AnsibleModule", lambda **_: Module(state="kept"))
    with pytest.raises(SystemExit, match=r"although systemd-timesyncd\.service was installed"):
        clock.main()


class Module:
    """Stands in for AnsibleModule; it ends with a failure or an answer."""

    check_mode = False

    def __init__(self, **params):
        self.params = {"servers": [], "wait_s": 0, **params}

    def fail_json(self, msg):
        raise SystemExit(f"failed: {msg}")

    def exit_json(self, **answer):
        raise SystemExit(f"daemon: {answer['daemon']}")


@pytest.mark.parametrize(
    ("units", "said"),
    [
        (["openntpd.service"], "failed: openntpd keeps the clock here, and rackbench sets chrony,"),
        (["ntpd-rs.service"], "failed: ntpd-rs keeps the clock here, and rackbench sets chrony,"),
        (["openntpd.service", "ntpsec.service"], "daemon: ntpsec.service"),
        ([], "daemon: "),
    ],
)
def test_a_time_daemon_that_rackbench_cannot_set_is_named_before_a_package_conflicts(
    clock, systemd, monkeypatch, units, said
):
    systemd(dict.fromkeys(units, "loaded enabled active"))
    monkeypatch.setattr(clock, "AnsibleModule", lambda **_: Module(state="checked"))
    with pytest.raises(SystemExit) as ended:
        clock.main()
    assert str(ended.value).startswith(said)
    if said.startswith("failed"):
        assert "Write baseline_time_sync: false for this node" in str(ended.value)
