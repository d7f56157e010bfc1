"""apt that is in use, broken or held back, with an apt-get that says what the real one says."""

import subprocess
import sys

import pytest
from loading import load

MODULE = "roles/baseline/library/packages.py"
HOLD_A_LOCK = """
import fcntl, sys
with open(sys.argv[1], "r+b") as stream:
    fcntl.lockf(stream, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def packages():
    return load(MODULE)


class Apt:
    """Fails as it is told, call by call, and remembers the calls."""

    def __init__(self, *complaints, foreseen=""):
        self.complaints = list(complaints)
        self.foreseen = foreseen
        self.calls = []

    def refresh(self):
        self.calls.append("refresh")

    def install(self, _, *more):
        self.calls.append(" ".join(("install", *more)))
        complaint = self.complaints.pop(0) if self.complaints else ""
        if complaint:
            raise OSError(complaint)
        return self.foreseen


def test_who_holds_the_lock_is_named_until_it_lets_go(packages, tmp_path):
    lock = tmp_path / "lock-frontend"
    lock.touch()
    assert packages.holder(lock) == ""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_A_LOCK, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"held\n"
        assert f"({other.pid})" in packages.holder(lock)
        other.stdin.close()
        other.wait()
        assert packages.holder(lock) == ""
    assert packages.holder(tmp_path / "absent") == ""


def test_waiting_ends_with_the_last_user_or_with_its_time(packages):
    users = [["apt-get (7) holds a lock"], ["apt-daily.service runs"], []]
    assert packages.settle(60, lambda: iter(users.pop(0))) == ""
    assert packages.settle(0, lambda: iter(["dpkg (9) holds a lock"])) == "dpkg (9) holds a lock"


def test_lists_are_refreshed_only_where_that_may_help(packages):
    apt = Apt()
    assert packages.install(apt, ["unzip"], simulate=False) == []
    assert apt.calls == ["install"]
    apt = Apt("E: Unable to locate package unzip")
    packages.install(apt, ["unzip"], simulate=False)
    assert apt.calls == ["install", "refresh", "install"]
    apt = Apt("E: Unable to locate package unzip", "E: Unable to locate package unzip")
    with pytest.raises(OSError, match="Unable to locate"):
        packages.install(apt, ["unzip"], simulate=False)
    apt = Apt("E: dpkg was interrupted, you must manually run 'dpkg --configure -a'")
    with pytest.raises(OSError, match="interrupted"):
        packages.install(apt, ["unzip"], simulate=False)
    assert apt.calls == ["install"]


def test_a_held_package_is_raised_only_where_it_must_be_and_named(packages):
    foreseen = "Inst libc6 [2.41-1] (2.41-2 Debian:13 [amd64])\nInst unzip (6.0-29 Debian:13)\n"
    apt = Apt("E: Held packages were changed and -y was used without …", foreseen=foreseen)
    assert packages.install(apt, ["unzip"], simulate=False) == ["libc6 2.41-1 -> 2.41-2"]
    allowed = "--allow-change-held-packages"
    assert apt.calls == ["install", f"install {allowed} --simulate", f"install {allowed}"]


def test_nothing_is_installed_in_check_mode(packages):
    apt = Apt("E: Held packages were changed and -y was used without …")
    packages.install(apt, ["unzip"], simulate=True)
    assert all("--simulate" in call for call in apt.calls)
