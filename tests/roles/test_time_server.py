"""What the role that serves time refuses on the control host."""

import os
import subprocess

import pytest
import yaml
from rendering import Role

ASK, REFUSE = "Ask whether chrony reads drop-ins", "Refuse a chrony that reads none"


@pytest.mark.parametrize(
    ("line", "is_read"),
    [
        ("confdir /etc/chrony/conf.d", True),
        (" ConfDir\t/etc/chrony/site.d /etc/chrony/conf.d", True),
        ("include /etc/chrony/conf.d/*.conf", True),
        ("# confdir /etc/chrony/conf.d", False),
        ("confdir /etc/chrony/conf.d.old", False),
        ("sourcedir /etc/chrony/sources.d", False),
        ("", False),
    ],
)
def test_a_chrony_that_reads_no_drop_in_is_refused(tmp_path, line, is_read):
    own = tmp_path / "chrony.conf"
    own.write_text(f"pool pool.lab iburst\n{line}\ndriftfile /var/lib/chrony/drift\n")
    *argv, file = Role("time_server").task("main", ASK)["ansible.builtin.command"]["argv"]
    assert file == "/etc/chrony/chrony.conf"
    done = subprocess.run([*argv, own], capture_output=True, check=False)
    role = Role("time_server", __time_server_drop_ins={"rc": done.returncode})
    assert role.holds(role.task("main", REFUSE)["when"]) is not is_read


REMOVED = """\
Remv {} [1.2.3]
Inst chrony (4.6 Debian:13 [amd64])
"""


@pytest.mark.parametrize(
    ("removed", "servers", "replaced"),
    [
        ("ntpsec", "", ["ntpsec"]),
        ("systemd-timesyncd", "", []),
        ("systemd-timesyncd", "[Time]\n#NTP=\nNTP=\n", []),
        ("systemd-timesyncd", "[Time]\n NTP=time.site.example\n", ["systemd-timesyncd"]),
        ("ntpsec", "[Time]\nNTP=time.site.example\n", ["ntpsec"]),
        ("", "[Time]\nNTP=time.site.example\n", []),
    ],
)
@pytest.mark.parametrize("place", ["timesyncd.conf", "timesyncd.conf.d/site.conf"])
def test_a_time_daemon_that_somebody_set_up_is_not_replaced(
    tmp_path, removed, servers, replaced, place
):
    (tmp_path / "timesyncd.conf.d").mkdir()
    (tmp_path / "timesyncd.conf.d/rackbench.conf").write_text("[Time]\nNTP=192.0.2.1\n")
    (tmp_path / place).write_text(servers)
    apt = REMOVED.format(removed) if removed else ""
    asked = ask(tmp_path, {"dpkg-query": "exit 1", "apt-get": f"echo '{apt}'"})
    role = Role("time_server", __time_server_asked={"stdout_lines": asked})
    assert role.render("{{ __time_server_replaced }}") == replaced
    refusal = role.task("main", "Refuse to replace what somebody set up")
    assert role.holds(refusal["when"]) is bool(replaced)
    said = role.render(refusal["ansible.builtin.fail"]["msg"])
    assert f"replaces {', '.join(replaced)} on the control host" in said


def test_a_chrony_that_is_installed_costs_no_question_to_apt(tmp_path):
    programs = {"dpkg-query": "printf installed", "apt-get": f"touch {tmp_path}/asked"}
    asked = ask(tmp_path, programs)
    assert asked == ["installed"]
    assert not (tmp_path / "asked").exists()
    role = Role("time_server", __time_server_asked={"stdout_lines": asked})
    (install,) = [
        task
        for task in yaml.safe_load((role.path / "tasks/main.yml").read_text())
        if "ansible.builtin.apt" in task
    ]
    assert role.holds(install["when"]) is False


def ask(place, programs):
    """What the role asks a control host with these programs and these settings of timesyncd."""
    (place / "bin").mkdir()
    for name, body in programs.items():
        (place / "bin" / name).write_text(f"#!/bin/sh\n{body}\n")
        (place / "bin" / name).chmod(0o755)
    done = subprocess.run(
        ["sh", "-c", Role("time_server").render("{{ __time_server_ask }}"), place / "timesyncd"],
        env={"PATH": f"{place / 'bin'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_check_mode_passes_where_chrony_is_not_installed_yet():
    """It skips the question."""
    role = Role("time_server", __time_server_drop_ins={"skipped": True})
    assert role.holds(role.task("main", REFUSE)["when"]) is False
