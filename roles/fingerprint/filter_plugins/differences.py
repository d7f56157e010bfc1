"""Compares nodes that should be the same with each other, and with their declaration."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict
from statistics import median
from typing import Any

from ansible.errors import AnsibleFilterError

from collect.run.contents import contents_off
from collect.run.differences import Row, find_odd, gather
from collect.run.fingerprint import OF_A_MACHINE, READINGS, flat, kind_of

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

# The packages themselves are compared.
DIGESTS = frozenset({"packages_sha256"})
NOT_COMPARED = READINGS | OF_A_MACHINE | DIGESTS
# Width up to which other columns may widen a column.
WIDE = 72


def clocks_off(fingerprints: Mapping[str, Mapping[str, Any]], tolerance: float) -> Iterator[Row]:
    """Clocks whose offset exceeds the tolerance (ms) by more than the reading's uncertainty."""
    for name, taken in fingerprints.items():
        surely = abs(taken["clock_offset_ms"]) - taken["clock_uncertainty_ms"]
        if surely > tolerance:
            offset = str(taken["clock_offset_ms"])
            yield Row("clock_offset_ms", name, offset, f"within {tolerance:g}")


def limit_of(taken: Mapping[str, Any]) -> float:
    """Return the Mbit/s that a node's shaper or else its hardware allows; 0 for no limit."""
    speed = taken.get("link_speed_mbit") if taken.get("link_driver") else None
    return max(0.0, float(taken.get("link_shaped_mbit") or speed or 0))


def links_off(
    fingerprints: Mapping[str, Mapping[str, Any]], share: float, slower_ms: float
) -> Iterator[Row]:
    """Links far from the median one: in rate by this share, in round trip by this many ms.

    If the median link is slower than hardware or shaper allow, or nothing limits it, the CPU limits
    the rates, and they are not compared.
    """
    limited = {name: taken for name, taken in fingerprints.items() if limit_of(taken)}
    rates = {name: taken.get("link_measured_mbit") for name, taken in limited.items()}
    reached = median([rate or 0 for rate in rates.values()] or [0])
    if reached < (1 - share) * median([limit_of(taken) for taken in limited.values()] or [0]):
        rates = {}
    trips = {name: taken.get("link_rtt_ms") for name, taken in fingerprints.items()}
    for item, readings, words in (
        ("link_measured_mbit", rates, f"within {share:.0%} of"),
        ("link_rtt_ms", trips, f"at most {slower_ms:g} above"),
    ):
        known = [value for value in readings.values() if value is not None]
        middle = median(known or [0])
        low, high = (1 - share) * middle, (1 + share) * middle
        if item == "link_rtt_ms":
            low, high = 0.0, middle + slower_ms
        for name, value in readings.items() if known else ():
            if value is None or not low <= value <= high:
                shown = "no answer from its peer" if value is None else str(value)
                yield Row(item, name, shown, f"{words} {middle:g}")


def declared(exceptions: Any, nodes: Set[str]) -> dict[tuple[str, str], str]:
    """Return the reasons of the declared exceptions by node and item; refuse an incomplete one."""
    reasons = {}
    for exception in exceptions or []:
        parts = exception if isinstance(exception, Mapping) else {}
        node, item, reason = (str(parts.get(key) or "") for key in ("node", "item", "reason"))
        if not (node and item and reason.strip()):
            raise AnsibleFilterError(
                f"fingerprint_exceptions: {exception} lacks node, item or reason; write all three, "
                "the report shows the reason"
            )
        if node not in nodes:
            raise AnsibleFilterError(
                f"fingerprint_exceptions: there is no node {node}; correct or remove the exception"
            )
        reasons[node, item] = reason
    return reasons


def roles_of(groups: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    """Return the groups of each node."""
    nodes = {name for members in groups.values() for name in members}
    return {name: frozenset(one for one in groups if name in groups[one]) for name in nodes}


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
    but: Sequence[str] = (),
) -> list[dict[str, str]]:
    """Return rows of item, node, value and the others' value; none if the nodes are the same.

    `fingerprints` by node name, `groups` as role and nodes. `tolerances` holds `clock_ms`,
    `memory` and `link_share` (shares of the median) and `rtt_ms`. Differences that `exceptions`
    declare and the items of `but` are omitted. Raises AnsibleFilterError for an exception without a
    node of the lab, an item or a reason.
    """
    roles = roles_of(groups)
    # Nodes that a playbook skips count as well.
    excused = set(declared(exceptions, {*fingerprints, *roles}))
    compared = {
        name: {item: v for item, v in flat(taken).items() if item not in NOT_COMPARED}
        for name, taken in fingerprints.items()
    }
    rows = find_odd(compared, roles, excused, float(tolerances["memory"]))
    rows += clocks_off(fingerprints, float(tolerances["clock_ms"]))
    rows += links_off(fingerprints, float(tolerances["link_share"]), float(tolerances["rtt_ms"]))
    return [
        asdict(row)
        for row in rows
        if row.item not in but
        # `packages` excuses every package, `packages zip` one.
        and not excused & {(row.node, row.item), (row.node, kind_of(row.item))}
    ]


def fingerprint_undeclared(
    taken: Mapping[str, Mapping[str, Any]],
    groups: Mapping[str, Sequence[str]],
    archives: Mapping[str, Sequence[Mapping[str, Any]]],
    files_not: Sequence[str],
    ignored: str = "",
) -> list[dict[str, str]]:
    """Return rows of item, node, value in force and declared value, where the two differ.

    `taken` are the answers of the module `fingerprint` by node name. `archives` has for each of the
    `groups` the archives that are unpacked in a `directory` of its nodes, without the first `strip`
    parts of their paths; files that match `files_not` are not compared. Items that begin with a
    match of the regular expression `ignored` are omitted.
    """
    rows = [{"node": name, **row} for name in sorted(taken) for row in taken[name]["undeclared"]]
    for group, unpacked in archives.items():
        for name in sorted(taken.keys() & set(groups.get(group, ()))):
            files = taken[name]["fingerprint"]["files"]
            found = (contents_off(files, **archive, but=files_not) for archive in unpacked)
            rows += [{"node": name, **row} for row in found if row]
    return [row for row in rows if not (ignored and re.match(ignored, row["item"]))]


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
