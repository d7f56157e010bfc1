"""Adds the clock offset, which only the control host can see, to a node's fingerprint."""

import re
import time
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase

ROUND_TRIPS = 5


class ActionModule(ActionBase):
    """Runs the module of the same name, then asks the node for its time."""

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Take the fingerprint; the offset is the best of a few round trips, in milliseconds."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        result.update(self._execute_module(task_vars=task_vars))
        if "fingerprint" not in result or boolean(self._task.args.get("brief", False)):
            return result
        trips = [self._trip() for _ in range(ROUND_TRIPS)]
        uncertainty, offset = min(trips)
        result["fingerprint"]["clock_offset_ms"] = round(offset * 1e3, 3)
        result["fingerprint"]["clock_uncertainty_ms"] = round(uncertainty * 1e3, 3)
        return result

    def _trip(self) -> tuple[float, float]:
        """Ask for the time once; return half the round trip and the offset, in seconds."""
        sent = time.time()
        answer = self._low_level_execute_command("date +now=%s.%N", sudoable=False)
        half = (time.time() - sent) / 2
        # Login shells print lines of their own.
        if not (now := re.search(r"now=(\d+\.\d+)", answer["stdout"])):
            said = f"the node answered {answer['stdout'][:60]!r} instead of its time"
            raise AnsibleActionFail(f"{said}; run date +%s.%N there and correct what it reports")
        return half, float(now[1]) - sent - half
