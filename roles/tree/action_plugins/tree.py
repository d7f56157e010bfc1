"""Fills the templates that a role lays down with the module tree, and sends the files it lacks."""

from __future__ import annotations

import hashlib
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.plugins.loader import lookup_loader

Values = dict[str, Any]

# A link is shown as what it is, and nothing but a file is read: a pipe that somebody put in its
# place would be waited for.
QUESTION = """\
stat --printf '%n %f %U %G\\n%n %f %u %g\\n' -- {paths} 2>/dev/null
set -- /dev/null; for file in {files}; do [ -f "$file" ] && set -- "$@" "$file"; done
timeout 60 sha256sum -- "$@"
getent passwd -- {accounts} | cut -d : -f 1,6,7
"""
NO_LOGIN = "/usr/sbin/nologin"


class Shallow(dict[str, Any]):
    """Variables of which the lookup `template` makes no deep copy for each template."""

    def __deepcopy__(self, memo: Values) -> Values:
        """Return a copy of the first level, which is all that the lookup writes to."""
        return dict(self)


class ActionModule(ActionBase):
    """Fills templates on the control host, as the lookup `template` does, and sends files."""

    def run(self, tmp: str | None = None, task_vars: Values | None = None) -> Values:
        """Put what its template says into each file that names one, and lay all of them down."""
        super().run(tmp, task_vars)
        variables = Shallow(task_vars or {})
        files = self._task.args.get("files", [])
        filled = [self._filled(file, variables) for file in files]
        arguments = {**self._task.args, "files": filled}
        if self._is_laid(arguments):
            return {"changed": False, "changes": []}
        result = self._execute_module(module_args=arguments, task_vars=variables)
        to_send = result.pop("to_send", [])
        for file in (file for file in files if file["path"] in to_send):
            sent = self._sent(file, variables)
            if sent.get("failed"):
                return sent
            result["changed"] = True
            result["changes"].append(file["path"])
        return result

    def _is_laid(self, arguments: Values) -> bool:
        """Return whether a shell of the node says that all is as wanted.

        The module answers that as well, but takes several times longer, mostly to be compiled.
        """
        try:
            expected = set(laid_lines(arguments))
        except (KeyError, ValueError):
            return False
        answer = self._low_level_execute_command(question(arguments))
        return expected <= set(answer["stdout_lines"])

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


def question(arguments: Values) -> str:
    """Return what to ask a shell of the node about these accounts, directories and files."""
    directories, files = (
        [one["path"] for one in arguments.get(kind, [])] for kind in ("directories", "files")
    )
    return QUESTION.format(
        paths=shlex.join([*directories, *files]),
        files=shlex.join(files),
        accounts=shlex.join(account["name"] for account in arguments.get("accounts", [])),
    )


def laid_lines(arguments: Values) -> Iterator[str]:
    """Yield each line that the answer has where all is as wanted.

    Raises ValueError where permissions are no octal number, which the shell cannot compare, and
    KeyError where a path or a name is missing; the module says so.
    """
    for account in arguments.get("accounts", []):
        yield f"{account['name']}:{account['home']}:{NO_LOGIN}"
    for directory in arguments.get("directories", []):
        yield attributes_line(directory, stat.S_IFDIR, "0755")
    for file in arguments.get("files", []):
        yield attributes_line(file, stat.S_IFREG, "0644")
        content = str(file.get("content") or file.get("secret") or "").encode()
        yield f"{file.get('sha256') or hashlib.sha256(content).hexdigest()}  {file['path']}"


def attributes_line(wanted: Values, kind: int, mode: str) -> str:
    """Return how the answer shows what is of this kind (a file type of `stat`) and as wanted."""
    bits = kind | int(str(wanted.get("mode", mode)), 8)
    return f"{wanted['path']} {bits:x} {wanted.get('owner', 'root')} {wanted.get('group', 'root')}"
