#!/usr/bin/python
"""A block of the lab's names in /etc/hosts; the rest of the file is left as it is."""

from __future__ import annotations

DOCUMENTATION = r"""
module: lab_names
short_description: Keeps a marked block of names in /etc/hosts
description:
  - The block stands first, so that all behind it stays byte for byte as it was; C(state=absent)
    takes it out again and leaves exactly that.
  - Where cloud-init writes the file at each boot, the same block is kept in cloud-init's template.
  - A file that an earlier version of the kit replaced whole is put back from its backup first.
options:
  state: {description: Whether the names are there, choices: [present, absent], default: present}
  hosts: {description: The address of each name, type: dict, default: {}}
  own:
    description: The name of this node in I(hosts). What the node calls itself resolves like it.
    default: ""
  root: {description: Where the node's files begin, type: path, default: /}
"""

EXAMPLES = r"""
- name: Let two names resolve
  lab_names:
    hosts: {rack01: 192.168.1.11, rack02: 192.168.1.12}
    own: rack01

- name: Leave the file as it was found
  lab_names:
    state: absent
"""

RETURN = r"""
changes:
  description: The files that were changed.
  type: list
  returned: always
"""

import ipaddress
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

BEGIN = "# BEGIN rackbench: the lab's names; playbooks/reset.yml takes them out\n"
END = "# END rackbench\n"
BLOCK = re.compile(rf"{re.escape(BEGIN)}.*?{re.escape(END)}", re.S)
HOSTS = "etc/hosts"
TEMPLATE = "etc/cloud/templates/hosts.debian.tmpl"
HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(\.(?!-)[A-Za-z0-9-]{1,63})*")
REPLACED = re.compile(
    r"# Ansible managed.*\n127\.0\.0\.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
    r"(?:[0-9a-f.:]+ [^ #\n]+\n)*"
)
PLAIN = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
BACKUP = re.compile(r"hosts\.\d+\.\d{4}-\d\d-\d\d@\d\d:\d\d:\d\d~")
MANAGES = re.compile(r"^\s*manage_etc_hosts:\s*['\"]?(\w+)", re.M)


def block_of(hosts: Mapping[str, str], own: str, called: str) -> str:
    """Return the block; what the node calls itself is another name of its own address."""
    own_names = f"{own} {called}" if called else own
    lines = (f"{address} {own_names if name == own else name}\n" for name, address in hosts.items())
    return f"{BEGIN}{''.join(lines)}{END}"


def also_called(hosts: Mapping[str, str], own: str, node_name: str) -> str:
    """Return what the node calls itself, where that is another name than the lab's.

    Empty if it is not.
    """
    usable = HOST_NAME.fullmatch(node_name) and node_name.partition(".")[0] != "localhost"
    return node_name if own in hosts and usable and node_name not in hosts else ""


def put_first(text: str, block: str) -> str:
    """Return the text with the block first, after the line that marks a cloud-init template."""
    rest = BLOCK.sub("", text)
    head, line_end, tail = (
        rest.partition("\n") if rest.startswith("## template") else ("", "", rest)
    )
    return head + line_end + block + tail


def backups(root: Path) -> list[Path]:
    """Return what an earlier version kept of the file it replaced, the oldest first."""
    kept = [path for path in (root / "etc").glob("hosts.*~") if BACKUP.fullmatch(path.name)]
    return sorted(kept, key=lambda path: path.stat().st_mtime)


def before_the_kit(root: Path) -> tuple[str, list[Path]]:
    """Return the file without the kit's names, and the backups that are not needed any more."""
    text = read(root / HOSTS)
    if not REPLACED.fullmatch(text):
        return BLOCK.sub("", text), []
    kept = backups(root)
    return (read(kept[0]) if kept else PLAIN), kept


def read(path: Path) -> str:
    """Return a file as it is, whatever it holds; nothing where there is none."""
    return path.read_bytes().decode(errors="surrogateescape") if path.exists() else ""


def rewritten_at_boot(root: Path) -> bool:
    """Return whether cloud-init writes the whole file at each boot.

    The last that says so counts.
    """
    cloud = root / "etc/cloud"
    if (cloud / "cloud-init.disabled").exists():
        return False
    files = [cloud / "cloud.cfg", *sorted((cloud / "cloud.cfg.d").glob("*.cfg"))]
    files.append(root / "var/lib/cloud/instance/cloud-config.txt")
    said = [word for path in files for word in MANAGES.findall(read(path))]
    return bool(said) and said[-1].lower() in ("true", "template", "yes", "on", "1")


def foreign(text: str, hosts: Mapping[str, str]) -> list[str]:
    """Names of the lab that the rest of the file gives another address that is not loopback."""
    found = []
    for line in text.splitlines():
        address, *names = line.partition("#")[0].split() or [""]
        for name in names:
            if name in hosts and hosts[name] != address and not is_loopback(address):
                found.append(f"{name} is {address} as well")
    return found


def is_loopback(address: str) -> bool:
    """Return whether this is an address of the node alone; Debian gives it one by its own name."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def wanted_files(root: Path, block: str) -> tuple[dict[Path, str], list[Path]]:
    """Return what each file is to hold, and backups that go.

    Raises OSError where a boot would undo it.
    """
    rest, useless = before_the_kit(root)
    files = {root / HOSTS: put_first(rest, block)}
    template = root / TEMPLATE
    if block and rewritten_at_boot(root) and not template.exists():
        raise OSError(
            f"cloud-init writes /etc/hosts at each boot, and /{TEMPLATE} is not there to put the"
            " lab's names into; write `manage_etc_hosts: localhost` into"
            " /etc/cloud/cloud.cfg.d/99-rackbench.cfg on the node"
        )
    text = read(template)
    keeps = block if rewritten_at_boot(root) else ""
    if keeps or BLOCK.search(text):
        files[template] = put_first(text, keeps)
    return files, useless


def main() -> None:
    """Write the files that differ."""
    module = AnsibleModule(
        argument_spec={
            "state": {"choices": ["present", "absent"], "default": "present"},
            "hosts": {"type": "dict", "default": {}},
            "own": {"default": ""},
            "root": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    root, hosts, own = Path(module.params["root"]), module.params["hosts"], module.params["own"]
    called = also_called(hosts, own, read(Path("/proc/sys/kernel/hostname")).strip())
    present = module.params["state"] == "present"
    try:
        files, useless = wanted_files(root, block_of(hosts, own, called) if present else "")
    except OSError as error:
        module.fail_json(msg=str(error))
    changed = {path: text for path, text in files.items() if read(path) != text}
    diff = [shown(path, text) for path, text in changed.items()]
    if not module.check_mode:
        for path, text in changed.items():
            write(module, path, text)
        for path in useless:
            path.unlink()
    if present:
        for problem in foreign(BLOCK.sub("", files[root / HOSTS]), hosts):
            module.warn(f"/etc/hosts of {own}: {problem}; programs may meet either")
    changes = [str(path) for path in [*changed, *useless]]
    module.exit_json(changed=bool(changes), changes=changes, diff=diff)


def shown(path: Path, text: str) -> dict[str, str]:
    """Return what `--diff` shows."""
    before = read(path).encode(errors="surrogateescape").decode(errors="replace")
    after = text.encode(errors="surrogateescape").decode(errors="replace")
    name = str(path)
    return {"before_header": name, "before": before, "after_header": name, "after": after}


def write(module: AnsibleModule, path: Path, text: str) -> None:
    """Put a file in place with the attributes it has, also where it is mounted over."""
    with tempfile.NamedTemporaryFile(dir=module.tmpdir, delete=False) as beside:
        beside.write(text.encode(errors="surrogateescape"))
    if not path.exists():
        path.touch(0o644)
    module.atomic_move(beside.name, str(path), unsafe_writes=True)


if __name__ == "__main__":
    main()
