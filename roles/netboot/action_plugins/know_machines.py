"""Takes the host keys that machines have reported into known_hosts, from all of them at once."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

from collect.printable import printable

DOCUMENTATION = r"""
module: know_machines
short_description: Takes the host keys that installed machines reported into known_hosts
options:
  know_host: {description: The script that takes one key, type: path, required: true}
  directory: {description: The state of the role, type: path, required: true}
  machines:
    description: Name, address, port and SSH arguments of each machine.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Know the machines that reported their host keys
  know_machines:
    know_host: roles/known_host/files/know_host
    directory: /home/me/.local/state/netboot
    machines: [{name: rack03, address: 192.168.1.13, port: 22, ssh_args: ""}]
"""

AT_ONCE = 16
KNOWN_S = 60


def fingerprint(key: str) -> str:
    """Return the SHA256 fingerprint of a public SSH key, as ssh-keygen prints it."""
    digest = hashlib.sha256(base64.b64decode(key.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def know(machine: Mapping[str, Any], know_host: str, kept: Path) -> str:
    """Take the key of one machine; why it cannot be taken, or nothing."""
    place = [machine["name"], machine["address"], str(machine["port"])]
    reported = json.loads((kept / "installed.json").read_text())["host_key"]
    arguments = [*place, fingerprint(reported), machine["ssh_args"]]
    try:
        done = subprocess.run(
            ["bash", know_host, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=KNOWN_S,
        )
    except subprocess.TimeoutExpired:
        return f"{machine['name']} shows no host key within {KNOWN_S} s; run the command again"
    if done.returncode:
        return printable(done.stderr, 600)
    (kept / "known").touch(mode=0o600)
    return ""


def know_all(machines: Sequence[Mapping[str, Any]], know_host: str, directory: Path) -> list[str]:
    """Take the keys of all machines at once; return a line for each that cannot be taken."""

    def attempt(machine: Mapping[str, Any]) -> str:
        return know(machine, know_host, directory / "machines" / machine["name"])

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [line for line in pool.map(attempt, machines) if line]


class ActionModule(ActionBase):
    """`know_machines`: `know_host` (a program), `directory` (of the state), `machines`."""

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Take all keys that can be taken: `why` has a line for each other machine."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        given = self._task.args
        machines = given["machines"]
        why = know_all(machines, given["know_host"], Path(given["directory"]))
        result.update(changed=len(why) < len(machines), why=why)
        return result
