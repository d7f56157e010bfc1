"""Runs the server of the installer, and shows the progress of each machine."""

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from collect.printable import printable
from collect.sweep.follow import end_with_parent

DOCUMENTATION = r"""
module: install_machines
short_description: Runs the server of the installer until each machine is installed or has failed
description:
  - Starts the server, makes the machines boot from the network in parallel, shows their progress,
    and ends the server.
options:
  server: {description: Command that serves, type: list, elements: str, required: true}
  directory: {description: The state of the role, type: path, required: true}
  broadcast: {description: The address that wakes machines, type: str, required: true}
  machines:
    description: The machines as in C(netboot_machines), checked.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Install the machines
  install_machines:
    server: [python3, files/serve.py, /home/me/.local/state/netboot/plan.json]
    directory: /home/me/.local/state/netboot
    broadcast: 192.168.1.255
    machines: "{{ netboot_machines }}"
"""

Command = Mapping[str, Any]
Steps = Sequence[Sequence[Command]]

LOG_LINES = 12
LOG_LETTERS = 300
POWER_S = 60
POWERED_AT_ONCE = 16
# Bounds the time and the output: a tool with more output ends when nobody reads on.
BOUNDED = 'timeout --kill-after=1 "$0" "$@" 2>&1 | head --bytes=65536'
KILLED_LATE = (124, 137)
REDFISH = Path(__file__).parents[1] / "files/boot_by_redfish.py"

NEVER_LOADED = (
    "No installer was loaded. Check that the machine is on, that it boots from the network first, "
    "that it is on this cable, and that netboot_mac is its address. playbooks/discover.yml shows "
    "who asks."
)


def usual_seconds(directory: Path) -> float | None:
    """Return the median time of earlier installs by this host; None before the first."""
    files = (directory / "machines").glob("*/installed.json")
    took = [took for file in files if (took := json.loads(file.read_text()).get("took_s"))]
    return statistics.median(took) if took else None


def line_of(event: dict[str, Any], begun: dict[str, float], usual_s: float | None) -> str:
    """Return one change as a line: time, machine, state, detail, and the time left if known.

    `begun` remembers when each machine began to load the installer.
    """
    at, name = time.strftime("%H:%M:%S", time.localtime(event["at"])), event["name"]
    if "note" in event:
        return f"{at} {name}: {event['note']}"
    state = event["state"]
    if state == "loading":
        begun[name] = event["at"]
    words = f"{state}, {event['detail']}" if event["detail"] else state
    if state in ("loading", "installing", "rebooting") and name in begun and usual_s:
        left = usual_s - (event["at"] - begun[name])
        words += f" (about {max(1, round(left / 60))} min to go)"
    return f"{at} {name}: {words}"


def verdict(ends: dict[str, str], directory: Path) -> list[str]:
    """Return the states of the machines that are not ready, and the paths of their logs."""
    lines = []
    for name, end in sorted(ends.items()):
        if end == "ready":
            continue
        log = directory / "machines" / name / "installer.log"
        lines.append(f"{name} is {end}.")
        if end.startswith("unstarted"):
            continue
        if log.is_file():
            last = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
            lines.append(f"The installer's log is {log}; its last lines:")
            lines += [printable(line, LOG_LETTERS) for line in last]
        else:
            lines.append(NEVER_LOADED)
    return lines


def steps_of(machine: Mapping[str, Any], broadcast: str) -> Steps:
    """Return the steps that boot a machine from the network; of each, one command must succeed.

    Each command is `name`, `argv`, `environment`, `stdin`, and no `argv` has a password. All
    commands of a step run: a machine that is off cannot be reset, one that is on cannot be switched
    on, and one that was just switched on is not always reset. The command for a machine with UEFI
    requests that mode. The key of a Redfish controller, if given, alone decides the trust in it.
    """
    power, uefi = machine["power"], machine["uefi"]
    if not power:
        return []
    if power == "wake":
        return [[_command("wakeonlan", "-i", broadcast, machine["mac"])]]
    password = str(power["password"])
    if "ipmi" in power:
        account = ("-U", str(power["user"]), "-E")
        tool = ("ipmitool", "-I", "lanplus", "-H", str(power["ipmi"]), *account)
        secret = {"IPMI_PASSWORD": password}
        boot_by = ("bootdev", "pxe", *(["options=efiboot"] if uefi else []))
        tasks = (boot_by, ("power", "on"), ("power", "reset"))
        boot, *starts = [_command(*tool, "chassis", *task, environment=secret) for task in tasks]
        return [[boot], starts]
    # curl's configuration has the quotes of JSON, but not its \u.
    user = json.dumps(f"{power['user']}:{password}", ensure_ascii=False)
    config = f"user = {user}\n"
    if key := power.get("public_key"):
        config += f"insecure\npinnedpubkey = {json.dumps(key)}\n"
    system, mode = str(power["redfish"]).rstrip("/"), "UEFI" if uefi else "Legacy"
    return [[_command(sys.executable, str(REDFISH), system, mode, stdin=config, name="Redfish")]]


def _command(
    *argv: str, environment: dict[str, str] | None = None, stdin: str = "", name: str = ""
) -> Command:
    name = name or argv[0]
    return {"name": name, "argv": list(argv), "environment": environment or {}, "stdin": stdin}


def start(steps: Steps, within_s: float = POWER_S) -> str:
    """Boot a machine from the network; return nothing, or the reason why not and the next step."""
    for step in steps:
        said = [run(command, within_s) for command in step]
        if all(said):
            return (
                f"{step[-1]['name']} {said[-1]}; correct netboot_power, or omit it and "
                "switch the machine on by hand"
            )
    return ""


def run(command: Command, within_s: float) -> str:
    """Run one of these commands; return nothing on success, or what it did instead."""
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", BOUNDED, f"{within_s}", *command["argv"]],
        env={**os.environ, **command["environment"]},
        input=command["stdin"],
        stdout=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    if not done.returncode:
        return ""
    if done.returncode in KILLED_LATE:
        return f"got no answer within {within_s:.0f} s"
    return f"said {printable(done.stdout) or f'nothing and ended with {done.returncode}'}"


def start_all(machines: Mapping[str, Steps], tell: Callable[[str, str], None]) -> None:
    """Start machines in parallel; `tell` gets the name of each that fails, and the reason."""

    def attempt(name: str) -> None:
        if why := start(machines[name]):
            tell(name, why)

    with ThreadPoolExecutor(POWERED_AT_ONCE) as pool:
        list(pool.map(attempt, machines))


def follow(server: Sequence[str], directory: Path, machines: Mapping[str, Steps]) -> dict[str, str]:
    """Serve, show each change, and return the last state of each machine at the end.

    `machines` has the steps that start each; a machine without any is started by hand.
    """
    display = Display()
    begun: dict[str, float] = {}
    states = dict.fromkeys(machines, "waiting")
    usual_s = usual_seconds(directory)
    with subprocess.Popen(
        list(server), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
        assert stdin and stdout and stderr  # noqa: S101

        def tell(name: str, why: str) -> None:
            with suppress(OSError, ValueError):
                stdin.write(json.dumps({"name": name, "why": why}).encode() + b"\n")
                stdin.flush()

        starter = threading.Thread(target=start_all, args=(machines, tell), daemon=True)
        for line in stdout:
            event = json.loads(line)
            if "serving" in event:
                if by_hand := ", ".join(name for name, steps in machines.items() if not steps):
                    display.display(f"Let these boot from the network now: {by_hand}")
                starter.start()
                continue
            if "state" in event:
                states[event["name"]] = ", ".join(filter(None, (event["state"], event["detail"])))
            display.display(line_of(event, begun, usual_s))
        said = stderr.read().decode(errors="replace").strip()
        if process.wait():
            raise AnsibleActionFail(f"The server of the installer has ended: {said}")
    return states


class ActionModule(ActionBase):
    """Serves, and reports the end of each machine."""

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Serve until every machine has come to an end: `lost` (names), `why` (lines)."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        end_with_parent()
        given, directory = self._task.args, Path(self._task.args["directory"])
        steps = {one["name"]: steps_of(one, given["broadcast"]) for one in given["machines"]}
        ends = follow(given["server"], directory, steps)
        lost = sorted(name for name, end in ends.items() if end != "ready")
        result.update(changed=len(lost) < len(ends), lost=lost, why=verdict(ends, directory))
        return result
