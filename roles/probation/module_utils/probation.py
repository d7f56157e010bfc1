"""Settings of a node that are kept only once somebody got in by them, and else rolled back."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.host import HostError, output, run

# Gone after a boot, as the settings that are tried are.
PLACE = Path("/run/rackbench-probation")
GRACE_S = 30

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "seconds": {"type": "int", "default": 0},
    "state": {"choices": ["tried", "kept", "undone"], "default": "tried"},
}
"""The options that every module has whose settings are tried on probation."""

Answer = dict[str, Any]


class OnProbation(Protocol):
    """Settings of a node, with a method for each state."""

    def tried(self) -> Answer:
        """Bring new settings into effect until they are kept or rolled back."""

    def kept(self) -> Answer:
        """Write down what was tried, so that a boot finds it."""

    def undone(self) -> Answer:
        """Wait until the settings before are in effect again, and check that they are."""


def exit_with(module: AnsibleModule, settings: OnProbation) -> None:
    """Do what the module's `state` asks, and end the module with the answer and its notes."""
    steps = {"tried": settings.tried, "kept": settings.kept, "undone": settings.undone}
    try:
        answer = steps[module.params["state"]]()
    except OSError as error:
        module.fail_json(msg=str(error))
    for note in answer.get("notes", []):
        module.warn(note)
    module.exit_json(**answer)


class Probation:
    """Settings of one kind on probation.

    Keeping and taking back each begin by renaming the same file, so that only one of them happens.
    """

    def __init__(self, kind: str) -> None:
        """Settings of this kind, of which one at a time is tried."""
        self.kind = kind
        self.directory = PLACE / kind
        self.unit = f"probation-{kind}"
        self._open, self._undoing, self._undone, self._kept = (
            self.directory / name for name in ("open", "undoing", "undone", "kept")
        )

    def clear(self) -> None:
        """Make room for settings to try; those that an earlier run left undecided go first."""
        if self._open.exists():
            self.undo_now()
        self.wait(0)
        self._disarm()
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True, mode=0o700)

    @contextmanager
    def armed(self, seconds: int, undo: str) -> Iterator[None]:
        """Let systemd run `undo`, a shell text, after so many seconds unless settings are kept.

        The block brings the settings into effect; where it fails they are rolled back at once.
        """
        undoing, undone = self._undoing, self._undone
        script = f"mv {self._open} {undoing} && {{ {undo}; }} && mv {undoing} {undone}"
        # fmt: off
        run("systemd-run", "--quiet", "--collect", f"--unit={self.unit}", f"--on-active={seconds}s",
            "--timer-property=AccuracySec=100ms", "--property=Type=oneshot",
            f"--description=Take back what nobody got in by: {self.kind}",
            "/bin/sh", "-c", script)
        # fmt: on
        self._open.touch()
        try:
            yield
        except OSError:
            self.undo_now()
            raise

    def keep(self) -> None:
        """Decide that the settings stay; a HostError when they were rolled back already."""
        try:
            self._open.rename(self._kept)
        except FileNotFoundError as error:
            raise HostError(
                "a new connection got through, but the node had gone back already; run site.yml "
                "again, with more seconds if that is slow"
            ) from error
        self._disarm()

    def undo_now(self) -> None:
        """Take the settings back before their time."""
        run("systemctl", "start", f"{self.unit}.service")
        self.wait(0)

    def wait(self, seconds: int) -> None:
        """Wait until the settings are rolled back; a HostError when that fails."""
        deadline = time.monotonic() + seconds + GRACE_S
        while self._open.exists() or self._undoing.exists():
            if time.monotonic() > deadline:
                raise HostError(
                    f"{self.unit}.service did not take the settings back; look at its console with "
                    f"journalctl -u {self.unit}"
                )
            time.sleep(0.1)

    def _disarm(self) -> None:
        output("systemctl", "stop", f"{self.unit}.timer")

    def end(self) -> None:
        """Forget what was tried."""
        shutil.rmtree(self.directory, ignore_errors=True)
