"""One of the project's modules or roles on one node."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from labs import Lab

ROLES = ("packet_filter", "baseline", "probation")


def ansible(lab: Lab, node: str, *words: str) -> tuple[int, dict[str, Any]]:
    """Run a module on a node with the project's inventory; exit code and what it answered last."""
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
    answers = [line for line in done.stdout.splitlines() if "=> {" in line]
    assert answers, done.stdout + done.stderr
    return done.returncode, json.loads(answers[-1].partition("=> ")[2])


def packet_filter(
    lab: Lab, node: str, /, *options: str, **other: Any
) -> tuple[int, dict[str, Any]]:
    """Run the role on a node, with other variables than the inventory's where they are given."""
    variables = json.dumps({f"packet_filter_{name}": value for name, value in other.items()})
    words = ("-m", "include_role", "-a", "name=packet_filter", "--extra-vars", variables)
    return ansible(lab, node, *options, *words)


def on_probation(
    lab: Lab, node: str, module: str, seconds: int, arguments: dict[str, Any]
) -> tuple[int, dict[str, Any]]:
    """Try settings on a node, and keep them if a new connection gets through in time."""
    wanted = {"module": module, "seconds": seconds, "arguments": arguments}
    return ansible(lab, node, "-m", "probation", "-a", json.dumps(wanted))
