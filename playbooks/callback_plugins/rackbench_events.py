"""Writes the events of a playbook, one JSON object a line, for the program `rackbench`."""

DOCUMENTATION = r"""
name: rackbench_events
type: aggregate
short_description: Writes each play, task, failure and message as a line of JSON
description:
  - Appends to the file that the environment variable C(RACKBENCH_EVENTS) names, and does nothing
    without it. C(rackbench) reads that file while the playbook runs, and shows its steps.
  - The lines are C(play) and C(task) with their C(name), C(failed) with C(task), C(node) and
    C(reason), C(said) with the C(text) of a debug task, and C(end) with C(ok) and C(changed).
    Each has the time C(at) in seconds since 1970.
"""

EXAMPLES = r"""
# RACKBENCH_EVENTS=/tmp/events.jsonl ansible-playbook playbooks/verify.yml
- name: Say something that rackbench shows
  ansible.builtin.debug:
    msg: this is shown at the end
"""

import json
import os
import time
from collections.abc import Mapping
from typing import Any

from ansible.executor.stats import AggregateStats
from ansible.executor.task_result import CallbackTaskResult
from ansible.playbook.play import Play
from ansible.playbook.task import Task
from ansible.plugins.callback import CallbackBase

# Removed, so that no playbook that a task starts writes into the same file.
EVENTS = os.environ.pop("RACKBENCH_EVENTS", "")
DEBUG = {"debug", "ansible.builtin.debug"}
NO_REASON = {"non-zero return code", "One or more items failed", "All items completed"}


def reason_of(result: Mapping[str, Any]) -> str:
    """Return why a task failed: its message, those of its failed items, or a command's output."""
    items = [item for item in result.get("results") or [] if isinstance(item, Mapping)]
    failed = [item for item in items if item.get("failed") or item.get("unreachable")]
    if failed:
        return "\n".join(dict.fromkeys(reason_of(item) for item in failed))
    message = text_of(result.get("msg"))
    if message and message not in NO_REASON:
        return message
    said = next((text for key in ("stderr", "stdout") if (text := text_of(result.get(key)))), "")
    return said or message or "no reason was given"


def text_of(value: Any) -> str:
    """Return a message as text, with the entries of a list on lines of their own."""
    if isinstance(value, list):
        return "\n".join(text_of(one) for one in value)
    if value is None:
        return ""
    return value.strip() if isinstance(value, str) else json.dumps(value, default=str)


class CallbackModule(CallbackBase):
    """Writes the events; disabled if nobody reads them."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "rackbench_events"

    def __init__(self) -> None:
        """Begin with no play."""
        super().__init__()
        self.disabled = not EVENTS

    def v2_playbook_on_play_start(self, play: Play) -> None:
        """Report that a play begins, which ends the one before."""
        self._write("play", name=play.get_name().strip())

    def v2_playbook_on_task_start(self, task: Task, is_conditional: bool = False) -> None:
        """Report that a task or a handler begins."""
        self._write("task", name=task.get_name().strip())

    v2_playbook_on_handler_task_start = v2_playbook_on_task_start

    def v2_runner_on_failed(self, result: CallbackTaskResult, ignore_errors: bool = False) -> None:
        """Report that a task failed on a node; a block may still rescue it."""
        if not ignore_errors:
            self._failed(result)

    def v2_runner_on_unreachable(self, result: CallbackTaskResult) -> None:
        """Report that a node cannot be reached, unless the task skips it."""
        if not result.task.ignore_unreachable:
            self._failed(result)

    def v2_runner_on_ok(self, result: CallbackTaskResult) -> None:
        """Report the message of a debug task."""
        if result.task.action in DEBUG and (text := text_of(result.result.get("msg"))):
            self._write("said", text=text)

    def v2_playbook_on_stats(self, stats: AggregateStats) -> None:
        """Report the end: whether no node failed, and how many tasks changed something on each."""
        of_hosts = {host: stats.summarize(host) for host in sorted(stats.processed)}
        self._write(
            "end",
            ok=not any(one["failures"] or one["unreachable"] for one in of_hosts.values()),
            changed={host: one["changed"] for host, one in of_hosts.items() if one["changed"]},
        )

    def _failed(self, result: CallbackTaskResult) -> None:
        task, node = result.task.get_name().strip(), result.host.get_name()
        self._write("failed", task=task, node=node, reason=reason_of(result.result))

    def _write(self, event: str, **told: Any) -> None:
        line = json.dumps({"at": time.time(), "event": event, **told}, ensure_ascii=False)
        with open(EVENTS, "a", encoding="utf-8") as file:  # noqa: PTH123 - a text, not a path
            file.write(f"{line}\n")
