"""Fills the templates that a role lays down with the module tree."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.template import generate_ansible_template_vars, trust_as_template

Values = dict[str, Any]


class ActionModule(ActionBase):
    """Fills templates on the control host: a lookup would copy every variable for each of them."""

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
        source = self._find_needle("templates", file["template"])
        known = {
            **variables,
            **generate_ansible_template_vars(file["template"], source, file["path"]),
            **file.get("vars", {}),
        }
        text = trust_as_template(self._loader.get_text_file_contents(source))
        templar = self._templar.copy_with_new_env(available_variables=known)
        content = templar.template(text, escape_backslashes=False, overrides={"trim_blocks": True})
        return {**filled, "content": content}
