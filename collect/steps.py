"""Runs the steps of a long command one after the other, and says what is left to wait.

python -m collect.steps NAME SECONDS COMMAND [NAME SECONDS COMMAND …]
"""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_EVERY_S = 30.0
_SLOWEST, _FASTEST = 4.0, 0.5


@dataclass(frozen=True)
class Step:
    """A shell command and how many seconds it takes, so far as that can be known beforehand."""

    name: str
    estimate_s: float
    command: str


def left_s(steps: Sequence[Step], taken_s: Sequence[float], running_s: float) -> float:
    """Give the seconds that the steps need yet.

    `taken_s` is what each step took that has ended, `running_s` how long the next one runs. The
    estimates of the rest are corrected by what the ended steps took, within bounds: a short step
    says little about a long one. A step that is late needs a tenth of its time more, until it ends.
    """
    done = sum(step.estimate_s for step in steps[: len(taken_s)])
    pace = min(max(sum(taken_s) / done, _FASTEST), _SLOWEST) if done else 1.0
    current, *later = [pace * step.estimate_s for step in steps[len(taken_s) :]]
    return max(current - running_s, running_s / 10) + sum(later)


def span(seconds: float) -> str:
    """Give a time to wait in words, in whole minutes when there are several."""
    if seconds < 90:
        return f"about {max(round(seconds, -1), 10):.0f} s"
    return f"about {seconds / 60:.0f} min"


def run(steps: Sequence[Step], say: Callable[[str], None], every_s: float = _EVERY_S) -> int:
    """Run the steps until one fails; give its exit code, or 0. Progress is said every `every_s`."""
    taken: list[float] = []
    for number, step in enumerate(steps, start=1):
        began = time.monotonic()
        label = f"step {number} of {len(steps)}, {step.name}"
        say(f"{label}: {span(left_s(steps, taken, 0))} to go")
        with subprocess.Popen(step.command, shell=True) as process:  # noqa: S602 - that of make
            code = None
            while code is None:
                try:
                    code = process.wait(every_s)
                except subprocess.TimeoutExpired:
                    running = time.monotonic() - began
                    say(f"{label}: {span(left_s(steps, taken, running))} to go")
        taken.append(time.monotonic() - began)
        if code:
            say(f"{label}: ended with {code}; mend what it says above and run the same again")
            return code
    say(f"all {len(steps)} steps done in {sum(taken) / 60:.1f} min")
    return 0


def _say(text: str) -> None:
    is_terminal = sys.stdout.isatty()
    print(f"\033[1m{text}\033[0m" if is_terminal else text, flush=True)


if __name__ == "__main__":
    words = sys.argv[1:]
    try:
        listed = [
            Step(name, float(seconds), command)
            for name, seconds, command in zip(words[::3], words[1::3], words[2::3], strict=True)
        ]
        sys.exit(run(listed, _say))
    except ValueError:
        sys.exit(f"usage: {(__doc__ or '').splitlines()[-1]}")
    except KeyboardInterrupt:
        sys.exit(130)
