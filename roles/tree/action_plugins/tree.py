"""Fills the templates that a role lays down with the module tree, and sends the files it lacks."""

from __future__ import annotations

import hashlib
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Sequence
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
SERVICES = """\
stat --printf 'written %Y\\n' -- {files} 2>/dev/null
systemctl show --timestamp=unix --property=Id,ActiveState,UnitFileState,ActiveEnterTimestamp -- \
{services}
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
        services = arguments.pop("services", [])
        answer = self._low_level_execute_command(question(arguments, services))["stdout_lines"]
        result: Values = {"changed": False, "changes": []}
        if not is_laid(arguments, answer):
            result = self._execute_module(module_args=arguments, task_vars=variables)
            if result.get("failed"):
                return result
        stale, idle = stale_and_idle(answer)
        result["changes"] += stale
        result |= {"changed": result["changed"] or bool(stale), "idle": idle}
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


def question(arguments: Values, services: Sequence[str] = ()) -> str:
    """Return what to ask a shell of the node about this tree, and the services that read it."""
    accounts, directories, files = (
        [str(one.get(name, "")) for one in arguments.get(kind, [])]
        for kind, name in (("accounts", "name"), ("directories", "path"), ("files", "path"))
    )
    asked = QUESTION + (SERVICES if services else "")
    return asked.format(
        paths=shlex.join([*directories, *files]),
        files=shlex.join(files),
        accounts=shlex.join(accounts),
        services=shlex.join(services),
    )


def is_laid(arguments: Values, answer: Iterable[str]) -> bool:
    """Return whether a shell of the node says that all is as wanted.

    The module answers that as well, but takes several times longer, mostly to be compiled.
    """
    try:
        return set(laid_lines(arguments)) <= set(answer)
    except (KeyError, ValueError):
        return False


def stale_and_idle(answer: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the services that began before a file was written, and those not up now or at boot.

    The former are left by a run that was ended between a change and its handlers.
    """
    text, stale, idle = "\n".join(answer), [], []
    written = max(map(int, re.findall(r"^written (\d+)$", text, re.MULTILINE)), default=0)
    for block in text.split("\n\n"):
        unit = dict(line.partition("=")[::2] for line in block.splitlines())
        if not (name := unit.get("Id")):
            continue
        is_up, since = unit["ActiveState"] == "active", unit["ActiveEnterTimestamp"].lstrip("@")
        if not is_up or unit["UnitFileState"] != "enabled":
            idle.append(name)
        if is_up and int(since) < written:
            stale.append(name)
    return stale, idle


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
