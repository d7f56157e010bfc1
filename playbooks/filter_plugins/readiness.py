"""Finds why an inventory's machines cannot be nodes; each reason comes with the next step."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible import context

from collect.front import bench
from collect.front.bench import becomes, lack_of_root

EXAMPLES = r"""
- name: Show why machines cannot be nodes, and why one is away
  ansible.builtin.debug:
    msg:
      - "{{ hostvars | ill_written(groups) }}"
      - "{{ hostvars | not_ready(groups['nodes']) }}"
      - "{{ validate_answer.msg | ssh_reason }}"
"""

Values = Mapping[str, Any]

# Free space on a node's root file system in MiB: for the packages and programs of the first
# site.yml, and once they are there, for the system's own logs and lists. What later needs more
# checks for it: apt, the role unpack, and sweeps.
FIRST_MB, LATER_MB = 1500, 200

NO_PYTHON = "has no python3; apt-get install python3 there"

WITHOUT_ROOT = {
    "root": "is not root; write ansible_become: true into hosts.yml",
    "sudo": "needs no sudo, and the node has none; write ansible_become: false into hosts.yml",
    "terminal": "may use sudo only at a terminal (requiretty), and modules have none; write "
    "Defaults:{} !requiretty into a file in /etc/sudoers.d there",
    "rule": "may not use sudo without a password; give that account a NOPASSWD rule there",
}


def ill_written(hostvars: Mapping[str, Values], groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what is wrong with an inventory itself, with the become method of this command."""
    return bench.ill_written(hostvars, groups, context.CLIARGS.get("become_method"))


def not_ready(
    hostvars: Mapping[str, Values],
    names: Sequence[str],
    may_go: Sequence[str] = (),
    left_out: Sequence[str] = (),
    free_mb: int | str | None = None,
) -> list[str]:
    """Return the reasons against a run in the nodes' answers (`validate_answer`).

    A sweep can skip the nodes of `may_go`; `left_out` lists those that it skips, by name
    or with the word `unreachable`. `free_mb` is the free space in MiB that a node needs on its root
    file system; without it, a provisioned node needs less.
    """
    problems = []
    for name in names:
        node = hostvars[name]
        answer = node.get("validate_answer")
        if answer is None:
            continue
        away = bool(answer.get("unreachable"))
        is_left_out = name in left_out or (away and "unreachable" in left_out)
        if is_left_out and name in may_go:
            continue
        label = f"{name} ({node.get('ansible_host', name)})"
        if away:
            problems.append(_unreachable(name, label, answer, way_out=name in may_go))
        else:
            problems += _unfit(label, node, answer, free_mb)
    return problems


def ssh_reason(said: str) -> str:
    """Return on one line why ssh reached nobody, from Ansible's message."""
    own = re.sub(r"^Task failed: |Pseudo-terminal will not be allocated[^\r\n]*", "", said)
    return re.sub(r"[\s\x00-\x1f\x7f]+", " ", own).strip()


def _unreachable(name: str, label: str, answer: Values, *, way_out: bool) -> str:
    said = str(answer.get("msg", ""))
    if re.search("/python3: (No such file|not found)", said):  # mitogen runs no task without it
        return f"{label} {NO_PYTHON}"
    if re.search("(?i)host key|host identification", said):
        return (
            f"{label}: ssh refuses its host key, because known_hosts has none for it, or another "
            f"one. Run rackbench trust -e node={name}, which adds a missing key. If a new machine "
            "replaced the node, read the fingerprint at its console "
            "(ssh-keygen -l -f /etc/ssh/ssh_host_ed25519_key.pub) and run "
            f"playbooks/replace_node.yml -e node={name} -e fingerprint=SHA256:…; otherwise another "
            "machine answers at that address"
        )
    return (
        f"{label} cannot be reached: {ssh_reason(said)}; check that it is powered on, that the "
        "inventory has its address, port, user and key, and that known_hosts has its host key"
        + (f", or skip it: -e without={name}" if way_out else "")
    )


def _unfit(label: str, node: Values, answer: Values, free_mb: int | str | None) -> Iterator[str]:
    """Yield the deficits of a node that answered; it answers one fact a line, `word value…`."""
    said = str(answer.get("stdout", "")).replace("\r", "")
    before, begins, _ = said.partition("\nbegins\n")
    if begins and before and not before.endswith("\n") and not _becomes(node):
        yield (
            f"{label}: a login there prints {before[-40:]!r} without an end of the line, so "
            "Ansible cannot read what its modules answer; let .bashrc of that account print on "
            "terminals only"
        )
    lines = said.splitlines()
    facts = dict(line.strip().partition(" ")[::2] for line in lines)
    yield from _without_root(f"{label}: {node.get('ansible_user', 'the SSH user')}", node, facts)
    if "has-python" not in facts:
        yield f"{label} {NO_PYTHON}"
    free = facts.get("free-mb", "").strip()
    needed = (LATER_MB if "has-jdk" in facts else FIRST_MB) if free_mb is None else int(free_mb)
    if not free.isdigit() or int(free) < needed:
        yield (
            f"{label} has {free or 'an unknown number of'} MiB free on /, but {needed} are "
            "needed; make room there, or set validate_free_mb"
        )
    held = facts.get("addresses", "").split()
    address = str(node.get("node_address", ""))
    if held and address not in held and not address.startswith("127."):  # every node has those
        yield (
            f"{label}: the bench would call it at {address}, which is not one of its addresses: "
            f"{', '.join(held)}. Write the right one into hosts.yml: node_address: {held[0]}"
        )


def _becomes(node: Values) -> bool:
    """Return whether modules become root by sudo, also by `-b` or ANSIBLE_BECOME."""
    return becomes(node, context.CLIARGS.get("become"))


def _without_root(account: str, node: Values, facts: Values) -> Iterator[str]:
    """Yield why modules cannot work as root on a node, and where they cannot put files."""
    if lack := lack_of_root(facts, becomes=_becomes(node)):
        yield f"{account} {WITHOUT_ROOT[lack].format(node.get('ansible_user', 'ACCOUNT'))}"
    elif "can-write" not in facts:
        yield (
            f"{account} and root must both be able to write to {facts.get('place', 'its home')} "
            "(its path and file system), where Ansible copies files. Make a local directory there "
            "that only this account may write, and write into hosts.yml: ansible_remote_tmp: PATH"
        )


class FilterModule:
    """The filters that check whether machines can be nodes."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names that templates use."""
        return {
            "ill_written": ill_written,
            "not_ready": not_ready,
            "ssh_reason": ssh_reason,
        }
