"""Virtual labs of the tests: made, reached, killed and removed."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import machine
import pytest
import testinfra  # type: ignore[import-untyped]
from playbook import Outcome, Player

Say = Callable[[str], None]

WORKERS = ("worker1", "worker2", "worker3")
NODES = ("client1", "broker1", *WORKERS)
"""The nodes of the tests' lab: workers for three servers at once, and no more."""

RUNNER = "rackbench-runner.service"
"""The unit that runs a sweep's trials on the client node."""


@dataclass(frozen=True)
class Lab:
    """One virtual lab; `nodes` are its names with their addresses."""

    name: str
    nodes: Mapping[str, str]
    player: Player
    say: Say

    @property
    def ssh_directory(self) -> Path:
        """Where the lab's key, known hosts and `ssh -F` file lie."""
        return self.player.home / "rackbench" / self.name / "ssh"

    @property
    def workers(self) -> list[str]:
        """The workers in pool order."""
        return [name for name in self.nodes if name.startswith("worker")]

    def play(self, playbook: str, *arguments: Any, **options: Any) -> Outcome:
        """Run a playbook that must succeed, with a line on the terminal."""
        with self.phase(f"{self.name}: {playbook}"):
            return self.player.run(playbook, *arguments, **options)

    @contextmanager
    def phase(self, what: str) -> Iterator[None]:
        """Say what is happening now."""
        self.say(f"{what} …")
        yield

    def traces(self) -> list[str]:
        """Everything on this machine that belongs to the lab."""
        return machine.traces(self.name, self.nodes)

    def ssh_command(self, node: str, command: str) -> list[str]:
        """The command line that runs a command on a node, over one connection a node."""
        return [
            *("ssh", "-F", str(self.ssh_directory / "config")),
            *("-o", "BatchMode=yes", "-o", "ConnectTimeout=10"),
            *self._multiplexed(),
            node,
            command,
        ]

    def ssh(
        self,
        node: str,
        command: str,
        *,
        check: bool = True,
        given: bytes = b"",
        timeout_s: float = 120,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command on a node."""
        done = subprocess.run(
            self.ssh_command(node, command),
            input=given,
            capture_output=True,
            check=False,
            timeout=timeout_s,
        )
        if check and done.returncode:
            raise AssertionError(
                f"{node}: {command} ended with {done.returncode}: {done.stderr.decode()}"
            )
        return done

    def output(self, node: str, command: str, *, timeout_s: float = 120) -> str:
        """What a command prints on a node, as root."""
        done = self.ssh(node, f"sudo sh -c {shlex.quote(command)}", timeout_s=timeout_s)
        return done.stdout.decode().strip()

    def host(self, node: str) -> Any:
        """The node as testinfra sees it, over SSH and with sudo."""
        return _host(node, str(self.ssh_directory / "config"), " ".join(self._multiplexed()))

    def journal(self, node: str, unit: str) -> str:
        """The last lines of a unit's journal, for a report."""
        try:
            done = self.ssh(node, f"sudo journalctl -u {unit} -n 60 -o short-precise", check=False)
        except (OSError, subprocess.SubprocessError) as error:
            return f"(cannot be read: {error})"
        return (done.stdout + done.stderr).decode(errors="replace")

    def hang_up(self) -> None:
        """Close the connections that are kept for the next command."""
        for socket in (self.player.home / "cp").glob("*"):
            subprocess.run(
                ["ssh", "-o", f"ControlPath={socket}", "-O", "exit", "any"],
                capture_output=True,
                check=False,
            )

    def _multiplexed(self) -> list[str]:
        path = self.player.home / "cp" / f"{self.name}-%n"
        return ["-o", "ControlMaster=auto", "-o", f"ControlPath={path}", "-o", "ControlPersist=60"]


@cache
def _host(node: str, config: str, extra: str) -> Any:
    return testinfra.get_host(f"ssh://{node}", ssh_config=config, ssh_extra_args=extra, sudo=True)


def remove(lab: Lab, before: Mapping[str, str] | None = None) -> None:
    """Remove a lab as a user does, whatever state it is in; nothing of it may be left.

    `before` holds the sysctls as they were when there was no lab.
    """
    lab.hang_up()
    lab.play("lab_down.yml", {"despite_sweep": True})
    left = lab.traces()
    changed = machine.changed_settings(before or {})
    if left or changed:
        pytest.fail(
            "after lab_down.yml there is still:\n" + "\n".join([*left, str(changed)]),
            pytrace=False,
        )


@contextmanager
def standing(lab: Lab) -> Iterator[Lab]:
    """A lab that is up, and gone afterwards: nothing of it may be left on this machine."""
    if lab.traces():
        with lab.phase(f"{lab.name}: what an earlier run left is removed"):
            remove(lab)
    before = machine.kernel_settings()
    try:
        lab.play("lab.yml")
        yield lab
    finally:
        remove(lab, before)


def small_lab(base: Lab, name: str, prefix: str, nodes: Sequence[str], **extra: Any) -> Lab:
    """Another lab beside, with nodes of these names."""
    addresses = {node: f"{prefix}.{11 + place}" for place, node in enumerate(nodes)}
    variables = {
        "rackbench_lab": name,
        "virtual_lab_prefix": prefix,
        "virtual_lab_nodes": addresses,
        "virtual_lab_memory_mb": 768,
        **extra,
    }
    return Lab(name, addresses, _with(base.player, variables), base.say)


def _with(player: Player, variables: Mapping[str, Any]) -> Player:
    return Player(player.project, player.home, [json.dumps(variables)], player.inventory)
