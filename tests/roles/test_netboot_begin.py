"""What a machine does before it installs: its clock is set, and a step that fails is reported."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from jinja2 import Environment, StrictUndefined

TEMPLATE = Path(__file__).parents[2] / "roles/netboot/templates/begin.j2"
PLACE = "/tmp/"  # noqa: S108 - the installer's own
BEFORE, NOW = 946_684_800, 1_800_000_000

# Each tool of the installer writes down what it was asked; its clock stands in the year 2000.
TOOLS = {
    "date": f'case "$*" in "-u +%s") echo {BEFORE} ;; *) echo "date $*" >>"$TOLD" ;; esac',
    "hwclock": 'echo "hwclock $*" >>"$TOLD"',
    "logger": 'echo "$*" >>"$TOLD"',
    "wget": 'for word; do case $word in --post-file=*) cat "${word#*=}" >>"$TOLD" ;; esac; done\n'
    'case "$*" in */clock) echo "$CLOCK" ;; *) echo "$*" >>"$TOLD" ;; esac',
}


@pytest.fixture
def begin(tmp_path):
    """Runs the script, and gives what the tools were told."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, body in TOOLS.items():
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    told, syslog = tmp_path / "told", tmp_path / "syslog"
    syslog.write_text("main-menu[3]: INFO: Menu item 'pkgsel' selected\n")
    filled = Environment(undefined=StrictUndefined, autoescape=False)  # noqa: S701 - a script
    script = filled.from_string(TEMPLATE.read_text()).render(
        machine={"name": "rack03"}, __netboot_own_url="http://control/token"
    )
    script = script.replace(PLACE, f"{tmp_path}/").replace("/var/log/syslog", str(syslog))

    def run(clock):
        environment = {"PATH": f"{tools}:{os.environ['PATH']}", "TOLD": told, "CLOCK": clock}
        # It ends with whoever holds its output, who must not be the one that watches.
        subprocess.run(
            ["sh"],
            input=script,
            text=True,
            env=environment,
            capture_output=True,
            check=True,
            timeout=30,
        )
        return told

    yield run
    with syslog.open("a") as file:
        file.write("main-menu[3]: WARNING **: Menu item 'grub-installer' failed.\n")
    deadline = time.monotonic() + 30
    while "http://control/token/failed" not in told.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert "Menu item 'grub-installer' failed" in told.read_text()


def test_the_clock_is_set_by_the_control_hosts(begin):
    assert begin(str(NOW)).read_text().splitlines() == [
        f"date -u -s @{NOW}",
        "hwclock -u -w",
        f"-t rackbench the clock was set by {NOW - BEFORE} s",
    ]


@pytest.mark.parametrize("clock", ["", "<html>", "$(reboot)", "-5"])
def test_what_is_no_time_sets_no_clock(begin, clock):
    told = begin(clock).read_text()
    assert "the clock stays as it is" in told
    assert "date" not in told
    assert "hwclock" not in told
