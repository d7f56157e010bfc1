"""What modules on probation share, and what is said of a connection that did not get in."""

import importlib
import os
import subprocess
import sys
from itertools import count
from types import SimpleNamespace

import pytest
from loading import ROOT, load

# Not loaded a second time: modules of other tests have it as well, and would keep another one.
probation = importlib.import_module("ansible.module_utils.probation")
plugin = load("roles/probation/action_plugins/probation.py", "probation_plugin")
sshd = load("roles/baseline/library/sshd_settings.py")
SESSION = ROOT / "roles/probation/module_utils/ssh_session.py"
ASK = f"import runpy; print(runpy.run_path({str(SESSION)!r})['ssh_session']())"


def session_below(shell, **environment):
    """Return what a process without SSH's variables finds that this shell text starts."""
    known = {key: value for key, value in os.environ.items() if not key.startswith("SSH_")}
    done = subprocess.run(
        ["sh", "-c", shell, sys.executable, ASK],
        env={**known, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_the_session_is_found_although_sudo_takes_it_from_the_process_itself():
    below_sudo = 'env -u SSH_CONNECTION "$0" -c "$1"; exit'
    found = session_below(below_sudo, SSH_CONNECTION="fe80::1%eth0 50000 fe80::2 2222")
    assert found == "Session(peer='fe80::1', port=2222)"


def test_a_session_without_an_address_is_passed_over():
    unknown = 'SSH_CONNECTION="UNKNOWN 65535 UNKNOWN 65535" "$0" -c "$1"; exit'
    found = session_below(unknown, SSH_CONNECTION="192.0.2.1 50000 192.0.2.2 22")
    assert found == "Session(peer='192.0.2.1', port=22)"


class EndedError(Exception):
    """A module has ended."""


class Module:
    """A module of Ansible that notes how it ended."""

    def __init__(self, state):
        self.params = {"state": state}
        self.warnings = []

    def warn(self, text):
        self.warnings.append(text)

    def exit_json(self, **answer):
        raise EndedError(answer)

    def fail_json(self, **answer):
        raise EndedError({"failed": True, **answer})


class Settings:
    """Settings that are tried with a note, cannot be kept, and meet an unreadable file."""

    def tried(self):
        return {"changed": True, "notes": ["everybody is let in"]}

    def kept(self):
        raise probation.HostError("the node had gone back already")

    def undone(self):
        raise PermissionError(13, "Permission denied", "/etc/ssh")


@pytest.mark.parametrize(
    ("state", "ended", "warnings"),
    [
        ("tried", {"changed": True, "notes": ["everybody is let in"]}, ["everybody is let in"]),
        ("kept", {"failed": True, "msg": "the node had gone back already"}, []),
        ("undone", {"failed": True, "msg": "[Errno 13] Permission denied: '/etc/ssh'"}, []),
    ],
)
def test_a_module_ends_with_the_answer_of_its_state_or_with_the_reason(state, ended, warnings):
    module = Module(state)
    with pytest.raises(EndedError) as end:
        probation.exit_with(module, Settings())
    assert end.value.args[0] == ended
    assert module.warnings == warnings


class Attempts(plugin.ActionModule):
    """New connections that end in turn as given, the last one again and again."""

    def __init__(self, *ends):
        self.ends = list(ends)

    def _attempt(self, seconds):
        return self.ends.pop(0) if len(self.ends) > 1 else self.ends[0]


@pytest.mark.parametrize(
    ("ends", "why_not"),
    [
        (["Permission denied.\n", "refused"], "Permission denied; later: refused"),
        (["refused", "Permission denied"], "refused; later: Permission denied"),
        (["refused"], "refused"),
        (["refused", "refused", ""], ""),
    ],
)
def test_a_connection_that_never_got_in_tells_every_reason_once(monkeypatch, ends, why_not):
    clock = SimpleNamespace(monotonic=count().__next__, sleep=lambda seconds: None)
    monkeypatch.setattr(plugin, "time", clock)
    assert Attempts(*ends)._new_connection(5) == why_not


@pytest.mark.parametrize(
    ("told", "lines"),
    [
        (
            "port 22\nhostkeyagent none\nhostkey /srv/keys/rsa\nhostkey /srv/my keys/ed25519\n",
            'HostKey "/srv/keys/rsa"\nHostKey "/srv/my keys/ed25519"\n',
        ),
        (None, ""),
    ],
)
def test_sshd_checks_settings_with_its_host_keys_wherever_they_are(
    monkeypatch, tmp_path, told, lines
):
    checked = []
    monkeypatch.setattr(sshd, "SETTINGS", tmp_path / "00-rackbench.conf")
    monkeypatch.setattr(sshd, "output", lambda *argv: told)
    monkeypatch.setattr(sshd, "run", lambda *argv, stdin: checked.append((argv[1:], stdin)))
    params = {"content": "X11Forwarding no\n", "seconds": 0}
    answer = sshd.Settings(SimpleNamespace(params=params, check_mode=True)).tried()
    assert checked == [(("-t", "-f", "/dev/stdin"), f"X11Forwarding no\n{lines}")]
    assert answer["diff"]["after"] == "X11Forwarding no\n"


@pytest.mark.parametrize(("is_mounted", "text"), [(True, "old\n"), (False, "new\n")])
def test_settings_of_sshd_that_are_still_in_force_are_not_called_undone(
    monkeypatch, tmp_path, is_mounted, text
):
    monkeypatch.setattr(sshd, "SETTINGS", tmp_path / "00-rackbench.conf")
    monkeypatch.setattr(sshd.os.path, "ismount", lambda path: is_mounted)
    settings = sshd.Settings(SimpleNamespace(params={"seconds": 1}, check_mode=False))
    settings.new = tmp_path / "new"
    settings.new.write_text("new\n")
    sshd.SETTINGS.write_text(text)
    settings.probation = SimpleNamespace(wait=lambda seconds: None, end=lambda: None)
    with pytest.raises(sshd.HostError, match="is not as it was before"):
        settings.undone()
