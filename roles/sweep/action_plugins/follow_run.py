"""Follows the runner on the client node and pulls sealed trials back while it goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


class ActionModule(ActionBase):
    """`follow_run`: `results` (here), `hook`, `hook_directory`, `hook_environment` and Terms."""

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Follow until the runner has ended; fails when trials are open and no deadline came."""
        result = super().run(tmp, task_vars)
        end_with_parent()
        given = self._task.args
        terms = Terms(
            source=given["source"],
            unit=given["unit"],
            account=given["account"],
            silence_s=float(given["silence_s"]),
            stall_s=float(given["stall_s"]),
            reserve_mb=int(given["reserve_mb"]),
            compress=given["compress"] in (True, "True", "true", "yes"),
        )
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
        result.update(
            changed=follower.pulled > 0,
            pulled=follower.pulled,
            not_ok=follower.not_ok,
            open=follower.missing,
        )
        return result

    def _node(self, command: str) -> bytes:
        """What a command prints on the node."""
        try:
            answer = self._low_level_execute_command(f"{{ {command}; }} 2>/dev/null")
        except AnsibleConnectionFailure as error:
            raise NodeSilentError(str(error)) from error
        text: str = answer["stdout"]
        return text.encode()
