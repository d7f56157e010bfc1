#!/usr/bin/python
"""Accounts, directories and files of a role, laid down in one call."""

from __future__ import annotations

DOCUMENTATION = r"""
module: tree
short_description: Lays down accounts, directories and files in one call
description:
  - Does for a whole role what C(user), C(file) and C(copy) do for one account or path, since most
    of a second run's time is the calls themselves.
  - A file is written beside its place and renamed, and only when its content differs. Nothing is
    removed.
  - What lies in a directory of another account than root is laid down as that account, so that a
    symbolic link planted there leads no further than the account comes by itself.
options:
  accounts:
    description: Accounts of the system that nobody logs in to, each with a group of its name.
    type: list
    elements: dict
    default: []
    suboptions:
      name: {description: What it is called, type: str, required: true}
      home: {description: Its home, which is not made, type: path, required: true}
  directories:
    description: Directories, parents first.
    type: list
    elements: dict
    default: []
    suboptions: &attributes
      path: {description: Where it is, type: path, required: true}
      owner: {description: The account that owns it, type: str, default: root}
      group: {description: The group that owns it, type: str, default: root}
      mode: {description: Its permissions, type: str, default: "0755"}
  files:
    description: Files; they may lie in the directories of the same call.
    type: list
    elements: dict
    default: []
    suboptions:
      <<: *attributes
      content: {description: All of it; C(--diff) shows it, type: str}
      template:
        description: Instead of C(content), a template of the role to fill on the control host.
        type: str
      vars: {description: What the template knows beside the role's variables, type: dict}
      secret: {description: All of it instead of C(content); never shown, type: str}
      source:
        description: >-
          Instead of C(content), a file of the control host, which is sent only where the node has
          another. For directories of root.
        type: path
      mode: {description: Its permissions, type: str, default: "0644"}
  services:
    description: >-
      Units of systemd that read the files as they start. One that has been up since before a file
      was written is a change, since a run was ended before its handlers.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Write the probes and the unit
  tree:
    directories:
      - {path: /etc/rackbench}
    files:
      - {path: /etc/rackbench/probes.json, template: probes.json.j2}
      - {path: /etc/rackbench/token, secret: "{{ token }}", mode: "0600"}
    services: [rackbench-health.socket]
  notify: Restart the health socket
"""

RETURN = r"""
changes:
  description: The accounts and paths that were made or changed, and the services to restart.
  type: list
  returned: always
idle:
  description: Those of C(services) that were not up, or are not started at boot.
  type: list
  returned: always
"""

import grp
import hashlib
import os
import pwd
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

NO_LOGIN = "/usr/sbin/nologin"


def known(ask: Callable[[str], Any], name: str) -> Any:
    """Return what the node knows of an account or a group, or None."""
    try:
        return ask(name)
    except KeyError:
        return None


def account_above(path: Path) -> int:
    """Return the first account beside root that owns a directory on the way to `path`.

    Root when none.

    Root's own directories are followed as they are: nobody else can have planted a link in them.
    """
    for parent in reversed(path.parents):
        if parent.exists() and (owner := parent.stat().st_uid):
            return owner
    return 0


@contextmanager
def acting_for(wanted: dict[str, Any]) -> Iterator[None]:
    """Be the account in whose directory this path lies, of the group that it is to have."""
    account, found = account_above(Path(wanted["path"])), (os.getegid(), os.getgroups())
    if os.geteuid() != 0 or account == 0:
        yield
        return
    group = int(name) if (name := wanted["group"]).isdigit() else grp.getgrnam(name).gr_gid
    os.setgroups([group])
    os.setegid(group)
    os.seteuid(account)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(found[0])
        os.setgroups(found[1])


class Tree:
    """What is laid down, and what that changed."""

    def __init__(self, module: AnsibleModule) -> None:
        """Begin with nothing laid down."""
        self._module = module
        self.changes: list[str] = []
        self.diff: list[dict[str, str]] = []
        self.to_send: list[str] = []
        """The paths of sources that the node has not."""

    def lay_account(self, wanted: dict[str, Any]) -> None:
        """Make an account, or give the one that is there its home and no login."""
        name = wanted["name"]
        attributes = ["-d", wanted["home"], "-s", NO_LOGIN, name]
        account = known(pwd.getpwnam, name)
        if not account:
            group = ["--gid", name] if known(grp.getgrnam, name) else ["--user-group"]
            command = ["useradd", "--system", "--no-create-home", *group, *attributes]
        elif (account.pw_dir, account.pw_shell) != (wanted["home"], NO_LOGIN):
            command = ["usermod", *attributes]
        else:
            return
        if not self._module.check_mode:
            self._module.run_command(command, check_rc=True)
        self.changes.append(name)

    def lay_directory(self, wanted: dict[str, Any]) -> None:
        """Make a directory and give it its attributes."""
        path = Path(wanted["path"])
        missing = not path.is_dir()
        if missing and (path.exists() or path.is_symlink()):
            self._module.fail_json(msg=f"{path} is there and is no directory; move it away")
        if missing and not self._module.check_mode:
            path.mkdir(parents=True)
        self._settle(wanted, missing)

    def lay_file(self, wanted: dict[str, Any]) -> None:
        """Write a file whose content differs and give it its attributes."""
        path = Path(wanted["path"])
        if path.is_dir():
            self._module.fail_json(msg=f"{path} is a directory where a file belongs; move it away")
        if wanted["sha256"]:
            self._lay_source(path, wanted)
            return
        after = (wanted["content"] or wanted["secret"] or "").encode()
        before = path.read_bytes() if path.is_file() else None
        if before != after:
            if wanted["secret"] is None:
                self._show(str(path), before or b"", after)
            if not self._module.check_mode:
                place = path.parent if account_above(path) else self._module.tmpdir
                with tempfile.NamedTemporaryFile(dir=place, delete=False) as beside:
                    beside.write(after)
                self._module.atomic_move(beside.name, str(path))
        self._settle(wanted, before != after)

    def _lay_source(self, path: Path, wanted: dict[str, Any]) -> None:
        if account_above(path):
            self._module.fail_json(
                msg=f"{path} lies below a directory of another account than root; give its content"
            )
        if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == wanted["sha256"]:
            self._settle(wanted, changed=False)
        else:
            self.to_send.append(str(path))

    def _show(self, path: str, before: bytes, after: bytes) -> None:
        self.diff.append(
            {
                "before_header": path,
                "before": before.decode(errors="replace"),
                "after_header": path,
                "after": after.decode(),
            }
        )

    def _settle(self, wanted: dict[str, Any], changed: bool) -> None:
        """Set owner, group and permissions, and remember the path if anything changed."""
        if Path(wanted["path"]).exists():  # in check mode it need not
            arguments = self._module.load_file_common_arguments(wanted)
            changed = self._module.set_fs_attributes_if_different(arguments, changed)
        if changed:
            self.changes.append(wanted["path"])


def main() -> None:
    """Lay down what is wanted, in its order."""
    attributes = {
        "path": {"type": "path", "required": True},
        "owner": {"type": "str", "default": "root"},
        "group": {"type": "str", "default": "root"},
    }
    directory = {**attributes, "mode": {"type": "str", "default": "0755"}}
    file = {
        **attributes,
        "mode": {"type": "str", "default": "0644"},
        "content": {"type": "str"},
        "secret": {"type": "str", "no_log": True},
        "sha256": {"type": "str"},
    }
    account = {
        "name": {"type": "str", "required": True},
        "home": {"type": "path", "required": True},
    }
    several = {"type": "list", "elements": "dict", "default": []}
    module = AnsibleModule(
        argument_spec={
            "accounts": {**several, "options": account},
            "directories": {**several, "options": directory},
            "files": {
                **several,
                "options": file,
                "mutually_exclusive": [("content", "secret", "sha256")],
                "required_one_of": [("content", "secret", "sha256")],
            },
        },
        supports_check_mode=True,
    )
    tree = Tree(module)
    for wanted in module.params["accounts"]:
        tree.lay_account(wanted)
    lays = ((tree.lay_directory, "directories"), (tree.lay_file, "files"))
    for lay, wanted in [(lay, wanted) for lay, kind in lays for wanted in module.params[kind]]:
        try:
            with acting_for(wanted):
                lay(wanted)
        except PermissionError as error:
            module.fail_json(
                msg=f"{wanted['path']} lies below a directory of another account than root, which"
                f" may not do this itself ({error}); look for a symbolic link on the way and remove"
                " it"
            )
    module.exit_json(
        changed=bool(tree.changes), changes=tree.changes, diff=tree.diff, to_send=tree.to_send
    )


if __name__ == "__main__":
    main()
