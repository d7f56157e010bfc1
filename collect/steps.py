"""Runs the steps of a long command one after another and says how long the rest will take.

python -m collect.steps NAME SECONDS COMMAND [NAME SECONDS COMMAND …]
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from collect.time_left import in_words, of_steps

_EVERY_S = 30.0


@dataclass(frozen=True)
class Step:
    """A shell command, and an estimate of how many seconds it takes."""

    name: str
    estimate_s: float
    command: str


def run(steps: Sequence[Step], say: Callable[[str], None], every_s: float = _EVERY_S) -> int:
    """Run the steps until one fails; return its exit code, or 0.

    `say` is told the progress when a step begins and every `every_s` seconds.
    """
    estimates = [step.estimate_s for step in steps]
    taken: list[float] = []
    for number, step in enumerate(steps, start=1):
        began = time.monotonic()
        label = f"step {number} of {len(steps)}, {step.name}"
        say(f"{label}: {in_words(of_steps(estimates, taken, 0))} to go")
        with subprocess.Popen(step.command, shell=True) as process:  # noqa: S602 - that of make
            code = None
            while code is None:
                try:
                    code = process.wait(every_s)
                except subprocess.TimeoutExpired:
                    running = time.monotonic() - began
                    say(f"{label}: {in_words(of_steps(estimates, taken, running))} to go")
        taken.append(time.monotonic() - began)
        if code:
            say(
                f"{label}: failed with exit code {code}; correct what it reports above and run "
                "the same command again"
            )
            return code
    say(f"all {len(steps)} steps done in {sum(taken) / 60:.1f} min")
    return 0


def _say(text: str) -> None:
    is_terminal = sys.stdout.isatty()
    print(f"\033[1m{text}\033[0m" if is_terminal else text, flush=True)


if __name__ == "__main__":
    words = sys.argv[1:]
    # Ansible refuses a standard input that does not block, which some schedulers hand over.
    if sys.stdin:
        os.set_blocking(sys.stdin.fileno(), True)
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
