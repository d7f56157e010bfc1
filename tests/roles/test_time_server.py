"""The control host serves time only if its chrony reads the drop-in of the role."""

import subprocess

import pytest
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


def test_check_mode_passes_where_chrony_is_not_installed_yet():
    """It skips the question."""
    role = Role("time_server", __time_server_drop_ins={"skipped": True})
    assert role.holds(role.task("main", REFUSE)["when"]) is False
