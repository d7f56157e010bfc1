"""Tries settings that could lock out the control host, and keeps them only if it can reconnect."""

import time
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import connection_loader

DOCUMENTATION = r"""
module: probation
short_description: Tries settings of a node and keeps them only if a new connection succeeds
description:
  - Calls a module with C(state=tried), opens a new SSH connection to the node, and calls the module
    with C(state=kept), or with C(state=undone) if no connection succeeded.
options:
  module: {description: The module that applies the settings, type: str, required: true}
  arguments: {description: Its other arguments, type: dict, required: true}
  seconds: {description: Time for the new connection, 1 to 3600, type: int, default: 30}
"""

EXAMPLES = r"""
- name: Admit the traffic that the table of ports names
  probation:
    module: packet_filter
    seconds: 30
    arguments: {rules: "{{ rules }}", units: {packet-filter.service: "{{ unit }}"}}
"""

Values = dict[str, Any]

PAUSE_S = 0.5
# First of all arguments, because ssh uses the first value of each: a connection of its own that
# ends when nobody answers.
ALONE = (
    "-o ControlPath=none -o ControlMaster=no -o ServerAliveInterval=5 -o ServerAliveCountMax=2 "
    "-o ConnectTimeout={seconds}"
)


class ActionModule(ActionBase):
    """`probation`: `module` with its `arguments`, and `seconds` for a new connection."""

    def run(self, tmp: str | None = None, task_vars: Values | None = None) -> Values:
        """Return the module's answer, or why no connection succeeded and what the node did then."""
        super().run(tmp, task_vars)
        self._variables = task_vars or {}
        seconds = self._seconds()
        by_ssh = self._connection.transport == "ssh"
        tried = self._module("tried", seconds if by_ssh else 0)
        if not tried.get("pending"):
            if tried.get("changed") and not by_ssh:
                how = self._connection.transport
                tried["msg"] = f"no new connection is needed, as this node is reached by {how}"
            return tried
        why_not = self._new_connection(seconds)
        if why_not:
            return self._lost(tried, seconds, why_not)
        kept = self._module("kept", seconds)
        return {**tried, **kept, **warnings_of(tried), "pending": False}

    def _seconds(self) -> int:
        given = str(self._task.args.get("seconds", 30))
        if not given.isdecimal() or not 1 <= int(given) <= 3600:
            raise AnsibleActionFail(
                f"{given!r} is not a time for a new connection; give 1 to 3600 seconds"
            )
        return int(given)

    def _module(self, state: str, seconds: int) -> Values:
        given: Values = self._task.args
        arguments = {**given["arguments"], "state": state, "seconds": seconds}
        answer: Values = self._execute_module(
            module_name=given["module"], module_args=arguments, task_vars=self._variables
        )
        return answer

    def _new_connection(self, seconds: int) -> str:
        """Open new connections until one succeeds; else return SSH's messages, each reason once.

        The last reason may only be that sshd was just restarting with the old settings.
        """
        deadline = time.monotonic() + seconds
        reasons: list[str] = []
        while (left := deadline - time.monotonic()) > 0:
            said = self._attempt(max(1, int(left)))
            if not said:
                return ""
            reason = said.strip().rstrip(".")
            if reason not in reasons:
                reasons.append(reason)
            time.sleep(PAUSE_S)
        return "; later: ".join(reasons)

    def _attempt(self, seconds: int) -> str:
        """Return nothing, or why no connection succeeded within this many seconds."""
        connection = self._connection_of_its_own(seconds)
        try:
            code, _, errors = connection.exec_command("true", sudoable=False)
        except AnsibleConnectionFailure as error:
            return str(error.message)
        except AnsibleError as error:
            raise AnsibleActionFail(str(error)) from error
        return f"true ended with {code}: {errors.decode(errors='replace')}" if code else ""

    def _connection_of_its_own(self, seconds: int) -> Any:
        """Return Ansible's own SSH connection to this node, with any strategy."""
        connection = connection_loader.get("ansible.builtin.ssh", self._play_context, "/dev/null")
        keys = self._task.dump_attrs()
        del keys["retries"]
        keys["timeout"] = seconds
        if self._play_context.password:
            keys["password"] = self._play_context.password
        found = connection._resolve_option_variables(self._variables, self._templar)
        connection.set_options(task_keys=keys, var_options=found)
        arguments = f"{ALONE.format(seconds=seconds)} {connection.get_option('ssh_args') or ''}"
        connection.set_option("ssh_args", arguments)
        connection.set_option("reconnection_retries", 0)
        return connection

    def _lost(self, tried: Values, seconds: int, why_not: str) -> Values:
        """Wait until the node is as before, check that it is, and report all of it."""
        try:
            undone = self._module("undone", seconds)
        except AnsibleConnectionFailure as error:
            undone = {"failed": True, "msg": f"the connection from before broke ({error.message})"}
        if undone.get("failed") or undone.get("unreachable"):
            state = f"It is unknown whether the node rolled back: {undone.get('msg', '')}"
        else:
            state = f"The node rolled back to {undone['before']}, as a check showed"
        target = tried.get("what", self._task.args["module"])
        return {
            "failed": True,
            "changed": False,
            **warnings_of(tried),
            "msg": (
                f"{target} did not let a new connection in within {seconds} s: {why_not}. {state}. "
                f"{tried.get('next_step', '')}"
            ).strip(),
        }


def warnings_of(answer: Values) -> Values:
    """Return the warnings of a module's answer, so that another answer does not hide them."""
    return {"warnings": answer["warnings"]} if "warnings" in answer else {}
