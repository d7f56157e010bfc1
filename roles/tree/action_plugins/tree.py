"""Fills the templates that a role lays down with the module tree."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.plugins.loader import lookup_loader

Values = dict[str, Any]


class ActionModule(ActionBase):
    """Fills templates on the control host, as the lookup `template` does."""

    def run(self, tmp: str | None = None, task_vars: Values | None = None) -> Values:
        """Put what its template says into each file that names one, and lay all of them down."""
        super().run(tmp, task_vars)
        variables = task_vars or {}
        files = [self._filled(file, variables) for file in self._task.args.get("files", [])]
        arguments = {**self._task.args, "files": files}
        return self._execute_module(module_args=arguments, task_vars=variables)

    def _filled(self, file: Values, variables: Values) -> Values:
        if "template" not in file:
            return file
        filled = {name: value for name, value in file.items() if name not in ("template", "vars")}
        lookup = lookup_loader.get(
            "ansible.builtin.template", loader=self._loader, templar=self._templar
        )
        source = self._find_needle("templates", file["template"])
        own = file.get("vars", {})
        return {**filled, "content": lookup.run([source], variables, template_vars=own)[0]}
