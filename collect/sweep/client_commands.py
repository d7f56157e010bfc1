"""The shell commands that read and change the directory of a run on its client node."""

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

_WAIT_S = 1
_AWAIT_END = (
    'pid=$(systemctl show -P MainPID {unit}); if [ "$pid" -gt 0 ]; then '
    f'timeout {_WAIT_S} tail -s 0.1 --pid="$pid" -f /dev/null || '
    f"[ $? = 124 ] || sleep {_WAIT_S}; fi; "
)
"""Waits on the node, as the nodes are set for the next group when the runner of one has ended."""
_LINE_EACH = r"LC_ALL=C tr '\0\001-\037\177-\377' '\n?'"
"""Ends each name, which ends with a NUL, as a line, and keeps no character that would end one."""
_RUNNING = {"active", "activating", "deactivating", "reloading"}


@dataclass(frozen=True)
class ClientCommands:
    """Commands for root of the client, where `unit` is the runner and `source` the directory.

    They touch files as `account` only, unless that is empty.
    """

    source: str
    unit: str
    account: str

    def poll(self, *, awaits_end: bool) -> str:
        """Print what Answer reads, after at most a second if the runner's end is awaited."""
        source = shlex.quote(self.source)
        return (
            (_AWAIT_END.format(unit=self.unit) if awaits_end else "")
            + f'printf "%s\\n" "$(systemctl is-active {self.unit})"; '
            + self._inside(
                f'printf "%s\\n" "$(df --output=avail -B1M {source} | tail -n 1)" '
                f'"$(cat {source}/state.json)"; '
                rf"cd {source}/trials && find . -mindepth 1 -printf '%s %P\0' | {_LINE_EACH}"
            )
        )

    def pack(self, names: Sequence[str]) -> str:
        """Print an archive of trials in base64."""
        source = shlex.quote(self.source)
        return self._inside(f"tar -czf - -C {source}/trials -- {shlex.join(names)} | base64 -w0")

    def move_aside(self, names: Sequence[str]) -> str:
        """Move trials to `refused`, so that they are open again."""
        source = shlex.quote(self.source)
        return self._inside(
            f"mkdir -p {source}/refused && cd {source}/trials && "
            f"mv --backup=numbered -t ../refused -- {shlex.join(names)}; echo"
        )

    def remove(self, names: Sequence[str]) -> str:
        """Remove trials."""
        source = shlex.quote(self.source)
        return self._inside(f"cd {source}/trials && rm -rf -- {shlex.join(names)}; echo")

    def last_words(self) -> str:
        """Print the last lines of the runner's journal."""
        return f"journalctl -u {self.unit} -n 5 -o cat"

    def _inside(self, command: str) -> str:
        """Return a command that runs the given one as the account that owns the run's directory.

        A symbolic link planted there then reaches no file that the account could not reach anyway.
        """
        if not self.account:
            return command
        who = [f"--reuid={self.account}", f"--regid={self.account}", "--clear-groups"]
        return f"cd / && {shlex.join(['setpriv', *who, 'sh', '-c', command])}"


@dataclass(frozen=True)
class Answer:
    """The answer to a poll: whether the runner is running, the room there in MiB, its state.json.

    `files` has the size and the path of each file of a trial.
    """

    is_running: bool
    free_mb: int
    state: str
    files: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the answer; raises ValueError where it is none."""
        # Not splitlines(), which also splits at characters that a reason in JSON may contain.
        active, room, state, *files = [*re.split(r"\r?\n", text), "", "", ""]
        return cls(active in _RUNNING, int(room), state, tuple(files))

    def sizes(self) -> dict[str, int]:
        """Return the bytes of each trial's directory."""
        sizes: Counter[str] = Counter()
        for line in filter(None, self.files):
            size, _, path = line.partition(" ")
            sizes[path.partition("/")[0]] += int(size)
        return dict(sorted(sizes.items()))
