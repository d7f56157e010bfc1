"""Fills the templates that a role lays down with the module tree, and sends the files it lacks."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.plugins.loader import lookup_loader

Values = dict[str, Any]


class ActionModule(ActionBase):
    """Fills templates on the control host, as the lookup `template` does, and sends files."""

    def run(self, tmp: str | None = None, task_vars: Values | None = None) -> Values:
        """Put what its template says into each file that names one, and lay all of them down."""
        super().run(tmp, task_vars)
        variables = task_vars or {}
        files = self._task.args.get("files", [])
        filled = [self._filled(file, variables) for file in files]
        arguments = {**self._task.args, "files": filled}
        result = self._execute_module(module_args=arguments, task_vars=variables)
        to_send = result.pop("to_send", [])
        for file in (file for file in files if file["path"] in to_send):
            sent = self._sent(file, variables)
            if sent.get("failed"):
                return sent
            result["changed"] = True
            result["changes"].append(file["path"])
        return result

    def _filled(self, file: Values, variables: Values) -> Values:
        words = ("template", "vars", "source")
        filled = {name: value for name, value in file.items() if name not in words}
        if "source" in file:
            content = Path(file["source"]).read_bytes()
            return {**filled, "sha256": hashlib.sha256(content).hexdigest()}
        if "template" not in file:
            return filled
        lookup = lookup_loader.get(
            "ansible.builtin.template", loader=self._loader, templar=self._templar
        )
        source = self._find_needle("templates", file["template"])
        own = file.get("vars", {})
        return {**filled, "content": lookup.run([source], variables, template_vars=own)[0]}

    def _sent(self, file: Values, variables: Values) -> Values:
        """Return what the module copy answers, which sends a file."""
        attributes = {name: file.get(name, "root") for name in ("owner", "group")}
        task = self._task.copy()
        task.args = {
            "src": file["source"],
            "dest": file["path"],
            "mode": file.get("mode", "0644"),
            **attributes,
        }
        copy = self._shared_loader_obj.action_loader.get(
            "ansible.builtin.copy",
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        answer: Values = copy.run(task_vars=variables)
        return answer
