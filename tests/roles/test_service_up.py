"""A service that does not come up is told with its journal and the next step."""

import os
import subprocess
import sys

import pytest
import yaml
from loading import ROOT

VARS = yaml.safe_load((ROOT / "roles/service_up/vars/main.yml").read_text())
WAIT = VARS["__service_up_wait"].replace("{{ __service_up_restarts }}", "10")


@pytest.fixture
def programs(tmp_path):
    """A systemctl that knows how often units were restarted, and a journalctl."""
    systemctl = (
        'case "$*" in\n'
        '  is-failed*) grep -qs failed "$STATE" ;;\n'
        '  *NRestarts*) cat "$STATE"; [ ! -e "$STATE.later" ] || cp "$STATE.later" "$STATE" ;;\n'
        "  *ActiveState*) echo activating ;;\n"
        "  *SubState*) echo auto-restart ;;\n"
        "esac"
    )
    for name, text in {"systemctl": systemctl, "journalctl": "echo Address already in use"}.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def waited(programs, probe, state="0\n\n0\n", later=None, seconds=1):
    (programs / "state").write_text(state)
    if later is not None:
        (programs / "state.later").write_text(later)
    return subprocess.run(
        ["bash", "-c", WAIT, "wait", str(seconds), probe, "a.service", "b.service"],
        env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "STATE": f"{programs}/state"},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


def test_the_wait_ends_once_the_probe_succeeds(programs):
    probe = f"[ -e {programs}/ready ] || {{ touch {programs}/ready; exit 1; }}"
    assert waited(programs, probe).returncode == 0


@pytest.mark.parametrize("later", ["failed\n", "7\n\n13\n"])
def test_it_does_not_wait_for_what_failed_or_starts_again_and_again(programs, later):
    done = waited(programs, "echo no answer; false", "7\n\n3\n", later, seconds=60)
    assert (done.returncode, done.stdout) == (1, "no answer\n")


@pytest.mark.parametrize("later", [None, "25\n\n0\n"])
def test_restarts_from_before_the_wait_do_not_count(programs, later):
    probe = f"[ $(wc -l <{programs}/asked) = 3 ] || {{ echo >>{programs}/asked; exit 1; }}"
    (programs / "asked").touch()
    done = waited(programs, probe, "16\n\n0\n", later, seconds=60)
    assert done.returncode == 0, done.stdout


def test_it_ends_with_what_the_probe_said_last(programs):
    done = waited(programs, "echo 'connection refused' >&2; false")
    assert (done.returncode, done.stdout) == (1, "connection refused\n")


PLAY = """
- hosts: rack03
  connection: local
  gather_facts: false
  vars: {ansible_python_interpreter: PYTHON}
  tasks:
    - ansible.builtin.include_role: {name: service_up}
      vars: {service_up_units: [no-such-unit.service]}
"""
PLAY = PLAY.replace("PYTHON", sys.executable)


def played(tmp_path, programs):
    return subprocess.run(
        [ROOT / ".venv/bin/ansible-playbook", "--inventory", "rack03,", tmp_path / "play.yml"],
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if not k.startswith("ANSIBLE_")}
        | {
            "ANSIBLE_ROLES_PATH": str(ROOT / "roles"),
            "ANSIBLE_NOCOLOR": "1",
            "PATH": f"{programs}:{os.environ['PATH']}",
            "STATE": str(programs / "state"),
        },
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_failure_has_unit_state_journal_and_next_step(tmp_path, programs):
    (tmp_path / "play.yml").write_text(PLAY)
    done = played(tmp_path, programs)
    said = " ".join(done.stdout.replace("\\n", " ").split())
    assert done.returncode == 2, done.stdout + done.stderr
    assert "no-such-unit.service cannot be used: " in said
    assert "no-such-unit.service is activating (auto-restart). The last lines" in said
    assert "Address already in use" in said
    assert "journalctl -u no-such-unit.service) and run the same playbook again" in said


LOADED = """#!/bin/bash
here=$(dirname "$0")
echo "$*" >>"$here/calls"
laid_down=$(stat -c %Z "$here/file")
case "$*" in
  *is-enabled*hand.service*) echo disabled; exit 1 ;;
  *is-enabled*) echo enabled ;;
  *show*)
    state=active since=$((laid_down + 1))
    [[ $* != *down.service* ]] || state=inactive
    [[ $* != *coming.service* ]] || state=activating
    [[ $* != *old.service* ]] || since=$((laid_down - 1))
    [[ $* != *same.service* ]] || since=$laid_down
    printf 'LoadState=loaded\\nActiveState=%s\\nActiveEnterTimestamp=@%s\\n' "$state" "$since"
    case "$*" in
      *reload.service*) echo NeedDaemonReload=yes ;;
      *) printf 'NeedDaemonReload=no\\nSourcePath=%s\\n' "$here/file" ;;
    esac ;;
esac
"""


def asked(tmp_path, programs, *units):
    """Play the role for units of LOADED; what systemctl was asked to change."""
    (programs / "systemctl").write_text(LOADED)
    (programs / "file").touch()
    os.utime(programs / "file", (1, 1))  # as one from an archive
    (tmp_path / "play.yml").write_text(
        PLAY.replace("[no-such-unit.service]", f"[{', '.join(units)}]")
    )
    done = played(tmp_path, programs)
    assert done.returncode == 0, done.stdout + done.stderr
    calls = (programs / "calls").read_text().splitlines()
    return [call for call in calls if call.split()[0] not in ("show", "is-enabled", "is-failed")]


def test_a_unit_that_is_older_than_its_configuration_is_restarted(tmp_path, programs):
    calls = asked(tmp_path, programs, "old.service", "new.service", "reload.service")
    assert "daemon-reload" in calls
    assert [call for call in calls if call != "daemon-reload"] == [
        "restart old.service",
        "restart reload.service",
    ]


def test_what_is_down_or_not_started_at_boot_is_started_and_enabled(tmp_path, programs):
    calls = asked(tmp_path, programs, "down.service", "new.service", "hand.service")
    assert [call for call in calls if call != "daemon-reload"] == [
        "start down.service",
        "enable hand.service",
    ]


def test_where_nothing_is_due_nothing_but_one_question_is_asked(tmp_path, programs):
    assert asked(tmp_path, programs, "new.service", "same.service", "coming.service") == []


AGAIN = """#!/bin/bash
echo "$*" >>"$(dirname "$0")/calls"
case "$1" in
  restart) [ ! -e "$(dirname "$0")/broken" ] || { echo "Job failed" >&2; exit 1; } ;;
  *) echo active ;;
esac
"""


def played_again(tmp_path, programs):
    (programs / "systemctl").write_text(AGAIN)
    given = "{name: service_up, tasks_from: again}"
    units = "[a.service, b.service]"
    probe = f"service_up_probe: 'test -e {tmp_path}/ready'"
    play = PLAY.replace("{name: service_up}", given).replace("[no-such-unit.service]", units)
    (tmp_path / "play.yml").write_text(
        play.replace("service_up_units:", f"{probe}, service_up_timeout_s: 1, service_up_units:")
    )
    done = played(tmp_path, programs)
    calls = (programs / "calls").read_text().splitlines()
    said = " ".join(done.stdout.replace("\\n", " ").split())
    return done, said, [call for call in calls if call.split()[0] in ("daemon-reload", "restart")]


def test_services_are_restarted_at_once_and_waited_for_by_one_task(tmp_path, programs):
    (tmp_path / "ready").touch()
    done, said, calls = played_again(tmp_path, programs)
    assert done.returncode == 0, said
    assert calls == ["daemon-reload", "restart a.service b.service"]
    assert done.stdout.count("TASK [") == 2, said  # the first one includes the role


@pytest.mark.parametrize("is_broken", [True, False])
def test_services_that_do_not_come_up_again_are_told_with_their_journal(
    tmp_path, programs, is_broken
):
    if is_broken:
        (programs / "broken").touch()
        (tmp_path / "ready").touch()
    done, said, _ = played_again(tmp_path, programs)
    assert done.returncode == 2, said
    assert "a.service, b.service cannot be used: " in said
    assert "b.service is active (active). The last lines of its journal: Address already" in said
    assert ("Job failed" in said) == is_broken
    assert "journalctl -u a.service) and run the same playbook again" in said
