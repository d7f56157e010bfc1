"""Follows the runner on the client node and pulls sealed trials while it runs."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from collect.errors import InputError
from collect.sweep.follow import (
    Follower,
    NodeSilentError,
    SweepStoppedError,
    Terms,
    end_with_parent,
)
from collect.sweep.hook import Hook

DOCUMENTATION = r"""
module: follow_run
short_description: Follows the runner and pulls sealed trials
description:
  - Pulls each trial that the runner on the client node seals, checks it, flushes it to disk and
    removes it there, until the runner ends.
options:
  source: {description: Directory of the run on the client node, type: path, required: true}
  results: {description: Directory of the run on the control host, type: path, required: true}
  unit: {description: Unit of the runner, type: str, required: true}
  account: {description: Account that owns the trials there, type: str, required: true}
  silence_s: {description: Longest silence of the client in seconds, type: float, required: true}
  stall_s: {description: Seconds without a trial that are a stall, type: float, required: true}
  reserve_mb: {description: Free local space below which pulling waits, type: int, required: true}
  compress: {description: Whether logs are kept as calls.csv.gz, type: bool, required: true}
  look: {description: Blocks before the next interim analysis or 0, type: int, required: true}
  group: {description: Trials of the runner if not all up to the analysis, type: list, default: []}
  goes_on: {description: Whether trials with other node settings follow, type: bool, default: false}
  hook: {description: Command that reports the end, or empty, type: str, required: true}
  hook_directory: {description: Directory that it runs in, type: path, required: true}
  hook_environment: {description: Its further environment variables, type: dict, required: true}
"""

EXAMPLES = r"""
- name: Follow the runner and pull sealed trials
  follow_run:
    source: /var/lib/rackbench/runs/sort-demo
    results: results/sort-demo
    unit: rackbench-runner.service
    account: rackbench
    silence_s: 900
    stall_s: 3600
    reserve_mb: 200
    compress: false
    look: 0
    hook: ""
    hook_directory: .
    hook_environment: {}
"""


BEGIN, END = "rackbench-answer-begins", "rackbench-answer-ends"
ANSWER = re.compile(rf"(?s)\n{BEGIN}\r?\n(.*){END}\s")


class ActionModule(ActionBase):
    """Follows the runner over the task's connection."""

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Follow until the runner has ended; fails if trials are open and it is not `late`."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        end_with_parent()
        _, given = self.validate_argument_spec(yaml.safe_load(DOCUMENTATION)["options"])
        given["group"] = frozenset(given["group"])
        terms = Terms(**{one.name: given[one.name] for one in fields(Terms)})
        try:
            hook = (
                Hook(given["hook"], Path(given["hook_directory"]), given["hook_environment"])
                if given["hook"]
                else None
            )
            follower = Follower(Path(given["results"]), self._node, terms, Display().display, hook)
            follower.follow()
        except (SweepStoppedError, NodeSilentError, InputError) as error:
            raise AnsibleActionFail(str(error)) from error
        result.update(changed=follower.pulled > 0, late=follower.state.state == "deadline")
        return result

    def _node(self, command: str) -> bytes:
        """Return the output of a command on the node."""
        marked = f"echo; echo {BEGIN}; {{ {command}; }} 2>/dev/null; echo {END}"
        try:
            answer = self._low_level_execute_command(marked)
        except AnsibleConnectionFailure as error:
            raise NodeSilentError(str(error)) from error
        # Login shells print lines of their own.
        said = ANSWER.search(answer["stdout"])
        if not said:
            raise NodeSilentError(f"it answered {(answer['stderr'] or answer['stdout'])[:60]!r}")
        return said[1].encode()
