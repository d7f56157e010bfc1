"""How long playbooks take: what they took here the last time, or a guess."""

import json
import time
from collections.abc import Mapping, Sequence

from collect.files import write_text
from collect.front.process import state_directory
from collect.time_left import of_steps

_KEPT = 50


class Estimates:
    """The stages of a command, with the seconds that each takes."""

    def __init__(self, stages: Sequence[Mapping[str, float]]) -> None:
        """Begin with the first stage, now; a stage has its playbooks' guesses in seconds, by name.

        Playbooks of one stage run side by side.
        """
        self._names = [list(stage) for stage in stages]
        known = _read()
        self._estimates = [
            max(known.get(name, guess_s) for name, guess_s in stage.items()) for stage in stages
        ]
        self._taken: list[float] = []
        self._began = time.monotonic()

    def left(self, known_s: float | None) -> float | None:
        """Return the seconds that are left; `known_s` is what the running stage says of itself."""
        if known_s is not None:
            return known_s + sum(self._estimates[len(self._taken) + 1 :])
        return of_steps(self._estimates, self._taken, time.monotonic() - self._began)

    def stage_ended(self) -> None:
        """Note how long the stage took, here and for the next time."""
        seconds = time.monotonic() - self._began
        names = self._names[len(self._taken)]
        self._taken.append(seconds)
        self._began = time.monotonic()
        known = {name: value for name, value in _read().items() if name not in names}
        kept = [*known.items(), *((name, max(round(seconds, 1), 0.1)) for name in names)][-_KEPT:]
        write_text(state_directory() / "seconds.json", json.dumps(dict(kept), indent=1) + "\n")


def _read() -> dict[str, float]:
    try:
        content = json.loads((state_directory() / "seconds.json").read_text(encoding="utf-8"))
        return {str(name): float(value) for name, value in content.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
