"""Compares nodes that should be the same with each other, and with their declaration."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from collect.run.comparison import Tolerances, compare
from collect.run.contents import contents_off
from collect.run.differences import Row, gather, roles_of

EXAMPLES = r"""
- name: Show the differences between two nodes
  ansible.builtin.debug:
    msg: "{{ taken | fingerprint_differences({}, tolerances) | as_table }}"
  vars:
    tolerances: {clock_ms: 50, memory: 0.01, link_share: 0.2, rtt_ms: 2}

- name: Show the settings in force that differ from the declaration
  ansible.builtin.debug:
    msg: "{{ rows | as_table(['in force', 'declared']) }}"
  vars:
    rows: "{{ taken | fingerprint_undeclared(groups, archives, []) }}"
    taken: {rack03: "{{ fingerprint_taken }}"}
    archives: {workers: [{directory: /opt/rackbench/axis-ce78523f3f90, archive: dist/axis.war}]}

- name: Show the role that stands for each address
  ansible.builtin.debug:
    msg: "{{ {'rack03': '192.168.1.13'} | fingerprint_roles({'workers': ['rack03']}, []) }}"
"""

# Width up to which other columns may widen a column.
WIDE = 72


def fingerprint_roles(
    addresses: Mapping[str, str | Sequence[str]],
    groups: Mapping[str, Sequence[str]],
    control: Sequence[str],
) -> dict[str, str]:
    """Return the word for each address: the roles of its node, or the control host's word.

    `addresses` by node name, one or several a node, `groups` as role and nodes.
    """
    roles = roles_of(groups)
    words = dict.fromkeys(control, "control")
    for name, several in addresses.items():
        word = "+".join(sorted(roles.get(name, ()))) or "node"
        listed = [several] if isinstance(several, str) else several
        for place, address in enumerate(dict.fromkeys(listed)):
            words[address] = f"{word} {place + 1}" if place else word
    return words


def fingerprint_differences(
    fingerprints: Mapping[str, Mapping[str, Any]],
    groups: Mapping[str, list[str]],
    tolerances: Mapping[str, float],
    exceptions: Sequence[Mapping[str, str]] = (),
) -> list[dict[str, str]]:
    """Return rows of item, node, value and the others' value; none if the nodes are the same.

    `fingerprints` by node name, `groups` as role and nodes. `tolerances` holds `clock_ms`,
    `memory` and `link_share` (shares of the median) and `rtt_ms`. Differences that `exceptions`
    declare, each for a `node` and an `item`, are omitted.
    """
    within = Tolerances(**{name: float(value) for name, value in tolerances.items()})
    excused = {(one["node"], one["item"]) for one in exceptions or ()}
    return [asdict(row) for row in compare(fingerprints, roles_of(groups), within, excused)]


def fingerprint_undeclared(
    taken: Mapping[str, Mapping[str, Any]],
    groups: Mapping[str, Sequence[str]],
    archives: Mapping[str, Sequence[Mapping[str, Any]]],
    files_not: Sequence[str],
) -> list[dict[str, str]]:
    """Return rows of item, node, value in force and declared value, where the two differ.

    `taken` are the answers of the module `fingerprint` by node name. `archives` has for each of the
    `groups` the archives that are unpacked in a `directory` of its nodes, without the first `strip`
    parts of their paths; files that match `files_not` are not compared.
    """
    rows = [{"node": name, **row} for name in sorted(taken) for row in taken[name]["undeclared"]]
    for group, unpacked in archives.items():
        for name in sorted(taken.keys() & set(groups.get(group, ()))):
            files = taken[name]["fingerprint"]["files"]
            found = (contents_off(files, **archive, but=files_not) for archive in unpacked)
            rows += [{"node": name, **row} for row in found if row]
    return rows


def as_table(rows: Sequence[Mapping[str, str]], sides: Sequence[str] = ("value", "others")) -> str:
    """Lay out differences in columns for a terminal, uncut, and merge rows of equal content."""
    lines = [("item", "node", sides[0], sides[1])]
    for said in gather([Row(**row) for row in rows]):
        lines.append((said.item, ", ".join(said.nodes), said.value, said.others))
    widths = [max(min(WIDE, len(text)) for text in column) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names that templates use."""
        return {
            "fingerprint_differences": fingerprint_differences,
            "fingerprint_undeclared": fingerprint_undeclared,
            "fingerprint_roles": fingerprint_roles,
            "as_table": as_table,
        }
