"""Keeps settings of a node only after a new connection with them, and else rolls them back."""

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.host import HostError, output, run

# A boot removes it, as it does the tried settings.
PLACE = Path("/run/rackbench-probation")
GRACE_S = 30

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "seconds": {"type": "int", "default": 0},
    "state": {"choices": ["tried", "kept", "undone"], "default": "tried"},
}
"""The options of every module whose settings are tried on probation."""


class Probation:
    """Settings of one kind on probation.

    Keeping and rolling back both begin by renaming the same file, so only one of them can happen.
    """

    def __init__(self, kind: str) -> None:
        """Prepare for settings of this kind, which are tried one at a time."""
        self.kind = kind
        self.directory = PLACE / kind
        self.unit = f"probation-{kind}"
        self._open, self._undoing, self._undone, self._kept = (
            self.directory / name for name in ("open", "undoing", "undone", "kept")
        )

    def clear(self) -> None:
        """Prepare for new settings, after rolling back those that an earlier run left undecided."""
        if self._open.exists():
            self.undo_now()
        self.wait(0)
        self._disarm()
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True, mode=0o700)

    @contextmanager
    def armed(self, seconds: int, undo: str) -> Iterator[None]:
        """Let systemd run `undo`, a shell text, after this many seconds unless settings are kept.

        The block applies the settings; if it fails they are rolled back at once.
        """
        undoing, undone = self._undoing, self._undone
        script = f"mv {self._open} {undoing} && {{ {undo}; }} && mv {undoing} {undone}"
        # fmt: off
        run("systemd-run", "--quiet", "--collect", f"--unit={self.unit}", f"--on-active={seconds}s",
            "--timer-property=AccuracySec=100ms", "--property=Type=oneshot",
            f"--description=Roll back settings without a new connection: {self.kind}",
            "/bin/sh", "-c", script)
        # fmt: on
        self._open.touch()
        try:
            yield
        except OSError:
            self.undo_now()
            raise

    def keep(self) -> None:
        """Decide that the settings stay; raise a HostError if they were already rolled back."""
        try:
            self._open.rename(self._kept)
        except FileNotFoundError as error:
            raise HostError(
                "a new connection succeeded, but the node had already rolled back; run site.yml "
                "again, with more seconds if that is slow"
            ) from error
        self._disarm()

    def undo_now(self) -> None:
        """Roll back the settings before their time."""
        run("systemctl", "start", f"{self.unit}.service")
        self.wait(0)

    def wait(self, seconds: int) -> None:
        """Wait until the settings are rolled back; raise a HostError if that fails."""
        deadline = time.monotonic() + seconds + GRACE_S
        while self._open.exists() or self._undoing.exists():
            if time.monotonic() > deadline:
                raise HostError(
                    f"{self.unit}.service did not roll back the settings; at the console run "
                    f"journalctl -u {self.unit}"
                )
            time.sleep(0.1)

    def _disarm(self) -> None:
        output("systemctl", "stop", f"{self.unit}.timer")

    def end(self) -> None:
        """Forget the tried settings."""
        shutil.rmtree(self.directory, ignore_errors=True)


class OnProbation:
    """Settings of a node that are tried on probation; a subclass has a method for each state.

    `tried` applies new settings until they are kept or rolled back, `kept` saves them, so that a
    boot applies them, and `undone` waits until the old ones are in effect again, and checks that.
    """

    kind = ""

    def __init__(self, module: AnsibleModule) -> None:
        """Keep the parameters; read nothing yet."""
        self.params = module.params
        self.check = module.check_mode
        self.probation = Probation(self.kind)
        self.before, self.new = (self.probation.directory / name for name in ("before", "new"))


def exit_with(module: AnsibleModule, settings: OnProbation) -> None:
    """Carry out the module's `state`, and end the module with the answer and its notes."""
    try:
        answer: dict[str, Any] = getattr(settings, module.params["state"])()
    except OSError as error:
        module.fail_json(msg=str(error))
    for note in answer.get("notes", []):
        module.warn(note)
    module.exit_json(**answer)
