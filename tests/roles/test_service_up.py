"""A service that does not come up is told with its journal and the next step."""

import json
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
  restart)
    cat "$(dirname "$0")"/*.service >"$(dirname "$0")/restarted" 2>/dev/null
    [ ! -e "$(dirname "$0")/broken" ] || { echo "Job failed" >&2; exit 1; } ;;
  *) echo active ;;
esac
"""


def played_again(tmp_path, programs):
    own = {
        "service_up_units": ["a.service", "b.service"],
        "service_up_files": ["[Unit]\nDescription=a\n", "# $HOME %p `id` ä\n\n[Service]\n"],
        "service_up_probe": f"test -e {tmp_path}/ready",
        "service_up_timeout_s": 1,
    }
    return played_tasks(tmp_path, programs, "service_up", "again", **own)


def played_tasks(tmp_path, programs, role, tasks, **given):
    (programs / "systemctl").write_text(AGAIN)
    given["__service_up_directory"] = str(tmp_path)
    called = f"{{name: {role}, tasks_from: {tasks}, rolespec_validate: false}}"
    play = PLAY.replace("{name: service_up}", called)
    (tmp_path / "play.yml").write_text(
        play.replace("{service_up_units: [no-such-unit.service]}", json.dumps(given))
    )
    done = played(tmp_path, programs)
    calls = (programs / "calls").read_text().splitlines()
    said = " ".join(done.stdout.replace("\\n", " ").split())
    return done, said, [call for call in calls if call.split()[0] in ("daemon-reload", "restart")]


def test_files_are_written_and_services_restarted_at_once_by_one_task(tmp_path, programs):
    (tmp_path / "ready").touch()
    done, said, calls = played_again(tmp_path, programs)
    assert done.returncode == 0, said
    assert calls == ["daemon-reload", "restart a.service b.service"]
    assert done.stdout.count("TASK [") == 2, said  # the first one includes the role
    files = "[Unit]\nDescription=a\n# $HOME %p `id` ä\n\n[Service]\n"
    assert (tmp_path / "restarted").read_text() == files
    units = [tmp_path / "a.service", tmp_path / "b.service"]
    assert [unit.stat().st_mode & 0o777 for unit in units] == [0o644] * 2
    assert not [*tmp_path.glob(".*.service")]


def test_no_service_is_restarted_with_the_files_that_it_has(tmp_path, programs):
    """Its group of trials would run with the options of the group before."""
    (programs / "calls").touch()
    of_play = {"service_up_units": ["a.service"], "service_up_probe": "", "service_up_timeout_s": 1}
    done, said, calls = played_tasks(tmp_path, programs, "service_up", "again", **of_play)
    assert done.returncode == 2, said
    assert "service_up_files" in said
    assert calls == []


def test_a_group_of_trials_starts_tomcat_with_its_own_threads_by_one_task(tmp_path, programs):
    of_play = {
        "tomcat_probes": [],
        "tomcat_ready_timeout_s": 1,
        "tomcat_archive_sha256": "0" * 64,
        "tomcat_jdk": "/opt/rackbench/jdk",
        "tomcat_heap_mb": 64,
        "tomcat_jvm_options": ["-Xss1m"],
        "tomcat_threads": 7,
    }
    done, said, calls = played_tasks(tmp_path, programs, "tomcat", "set", **of_play)
    assert done.returncode == 0, said
    assert calls == ["daemon-reload", "restart rackbench-tomcat.service"]
    text = (tmp_path / "restarted").read_text()
    assert " -Xss1m " in text
    assert " -Drackbench.tomcat.threads=7 " in text
    assert text.endswith("WantedBy=multi-user.target\n")
    assert done.stdout.count("TASK [") == 2, said  # the first one includes the role


def test_a_group_of_trials_starts_all_worker_programs_by_one_task(tmp_path, programs):
    program = {"main_class": "org.rackbench.Any", "arguments": "--name 'a \"b\"'"}
    of_play = {
        "__worker_programs_probe": "",
        "worker_programs_ready_timeout_s": 1,
        "worker_programs_archive_sha256": "0" * 64,
        "worker_programs_jdk": "/opt/rackbench/jdk-25",
        "worker_programs_jvm_options": ["-XX:+UseG1GC"],
        "worker_programs_list": [
            {"name": name, "heap_mb": heap, **program} for name, heap in (("one", 8), ("two", 16))
        ],
    }
    done, said, calls = played_tasks(tmp_path, programs, "worker_programs", "set", **of_play)
    assert done.returncode == 0, said
    assert calls == ["daemon-reload", "restart rackbench-one.service rackbench-two.service"]
    for name, heap in (("one", 8), ("two", 16)):
        text = (tmp_path / f"rackbench-{name}.service").read_text()
        assert f"Description={name} of the bench\n" in text
        assert f"/jdk-25/bin/java -Xms{heap}m -Xmx{heap}m \\\n  -XX:+UseG1GC " in text
        assert program["arguments"] in text
        assert text.endswith("WantedBy=multi-user.target\n")
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
