"""One of the project's modules on one node, as its role calls it."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from labs import Lab

ROLES = ("packet_filter", "baseline", "probation")


def ansible(lab: Lab, node: str, *words: str) -> tuple[int, dict[str, Any]]:
    """Run one module on a node with the project's inventory; exit code and what it answered."""
    player, root = lab.player, lab.player.project.root

    def places(kind: str) -> str:
        return ":".join(str(root / "roles" / role / kind) for role in ROLES)

    done = subprocess.run(
        [
            *(str(root / ".venv/bin/ansible"), "--one-line", node, *words),
            *(f"--inventory={path}" for path in player.inventory),
            *(word for text in player.variables for word in ("--extra-vars", text)),
        ],
        cwd=root,
        env={
            **player.environment(stock=True),
            "ANSIBLE_LIBRARY": places("library"),
            "ANSIBLE_MODULE_UTILS": f"{places('module_utils')}:{root}/playbooks/module_utils",
            "ANSIBLE_ACTION_PLUGINS": places("action_plugins"),
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
        },
        # One of its own: ssh, which leaves the one it is given unblocked, was given that of pytest.
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert "=> {" in done.stdout, done.stdout + done.stderr
    return done.returncode, json.loads(done.stdout.partition("=> ")[2])


def filter_arguments(lab: Lab, **other: Any) -> dict[str, Any]:
    """What the role gives the module packet_filter in this lab, but for what is given here."""
    unit = (lab.player.project.root / "roles/packet_filter/files/packet-filter.service").read_text()
    wanted = {"lab": "{{ packet_filter_lab }}", "ports": "{{ packet_filter_ports }}"}
    return {**wanted, "ssh_from": "{{ packet_filter_ssh_from }}", "unit": unit, **other}


def packet_filter(lab: Lab, node: str, *options: str, **other: Any) -> tuple[int, dict[str, Any]]:
    """Bring a node's filter to what the role says, with no probation."""
    wanted = json.dumps(filter_arguments(lab, **other))
    return ansible(lab, node, *options, "-m", "packet_filter", "-a", wanted)


def on_probation(
    lab: Lab, node: str, module: str, seconds: int, arguments: dict[str, Any]
) -> tuple[int, dict[str, Any]]:
    """Try settings on a node, and keep them if a new connection gets through in time."""
    wanted = {"module": module, "seconds": seconds, "arguments": arguments}
    return ansible(lab, node, "-m", "probation", "-a", json.dumps(wanted))
