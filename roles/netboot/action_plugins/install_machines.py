"""Runs the server of the installer, and shows how far each machine is."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from collect.follow import end_with_parent

LOG_LINES = 12
POWER_S = 60


def usual_seconds(directory: Path) -> float | None:
    """How long installs took here before, in the middle; None before the first."""
    took = [
        json.loads(file.read_text()).get("took_s")
        for file in (directory / "machines").glob("*/installed.json")
    ]
    known = [seconds for seconds in took if seconds]
    return statistics.median(known) if known else None


def line_of(event: dict[str, Any], begun: dict[str, float], usual_s: float | None) -> str:
    """One change as a line: time, machine, state, detail, and how long yet where that is known.

    `begun` remembers when each machine began to load the installer.
    """
    name, state = event["name"], event["state"]
    if state == "loading":
        begun[name] = event["at"]
    words = f"{state}, {event['detail']}" if event["detail"] else state
    if state in ("loading", "installing", "rebooting") and name in begun and usual_s:
        left = usual_s - (event["at"] - begun[name])
        words += f" (about {max(1, round(left / 60))} min to go)"
    return f"{time.strftime('%H:%M:%S', time.localtime(event['at']))} {name}: {words}"


def verdict(ends: dict[str, str], directory: Path) -> list[str]:
    """What became of the machines that are not ready, and where to look."""
    lines = []
    for name, end in sorted(ends.items()):
        if end == "ready":
            continue
        log = directory / "machines" / name / "installer.log"
        lines.append(f"{name} is {end}.")
        if log.is_file():
            last = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
            lines += [f"The installer's log is {log}; its last lines:", *last]
        else:
            lines.append(
                "No installer was loaded: is it on, set to boot from the network first, on this "
                "cable, and is netboot_mac its address? playbooks/discover.yml shows who asks."
            )
    return lines


def start(machine: dict[str, Any]) -> bool:
    """Let a machine boot from the network; whether that can be done from here."""
    for step in machine["power"]:
        done = [run(command) for command in step]
        if all(one.returncode for one in done):
            said = (done[-1].stderr or done[-1].stdout).strip()
            raise AnsibleActionFail(
                f"{machine['name']} cannot be switched on: {step[-1]['argv'][0]} said {said}; "
                "correct netboot_power, or leave it out and switch the machine on by hand"
            )
    return bool(machine["power"])


def run(command: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
    """Run one of the commands of `power`."""
    return subprocess.run(
        command["argv"],
        env={**os.environ, **command["environment"]},
        input=command["stdin"],
        capture_output=True,
        text=True,
        check=False,
        timeout=POWER_S,
    )


class ActionModule(ActionBase):
    """`install_machines`: `server` (command line), `directory` (of the state), `machines`.

    Each machine has a `name` and the steps of its `power`.
    """

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Serve until every machine has come to an end: `lost` (names), `why` (lines)."""
        result = super().run(tmp, task_vars)
        end_with_parent()
        directory = Path(self._task.args["directory"])
        ends = self._follow(self._task.args["server"], directory, self._task.args["machines"])
        lost = sorted(name for name, end in ends.items() if end != "ready")
        result.update(changed=len(lost) < len(ends), lost=lost, why=verdict(ends, directory))
        return result

    def _follow(
        self, server: Sequence[str], directory: Path, machines: Sequence[dict[str, Any]]
    ) -> dict[str, str]:
        """The last state of each machine, once the server has ended."""
        display, begun = Display(), {}
        states = {machine["name"]: "waiting" for machine in machines}
        usual_s = usual_seconds(directory)
        with subprocess.Popen(
            list(server), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None and process.stderr is not None  # noqa: S101
            by_hand = [machine["name"] for machine in machines if not start(machine)]
            if by_hand:
                display.display(f"Let these boot from the network now: {', '.join(by_hand)}")
            for line in process.stdout:
                event = json.loads(line)
                states[event["name"]] = ", ".join(filter(None, (event["state"], event["detail"])))
                display.display(line_of(event, begun, usual_s))
            said = process.stderr.read().decode(errors="replace").strip()
            if process.wait():
                raise AnsibleActionFail(f"The server of the installer has ended: {said}")
        return states
