"""The addresses in a settings file, each counted by what it is to the node that holds it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ansible.module_utils import ssh_session

V4 = r"\d{1,3}(?:\.\d{1,3}){3}"
# Two colons at least; what is no address after all is left as it is.
V6 = r"(?:[0-9A-Fa-f]{0,4}:){2,7}(?:" + V4 + r"|[0-9A-Fa-f]{0,4})"
ADDRESS = rf"(?:(?<![\w.:]){V6}(?:%[\w.-]+)?(?![\w:])|(?<![\w.]){V4}(?!\w|\.\d))"
# A range or a network is no node; both ends of it stand for themselves.
PLACE = rf"{ADDRESS}(?:/\d+| ?- ?{ADDRESS})?"
HOST = rf"(?:\[{PLACE}\]|{PLACE})"
ELEMENT = rf"""["']?(?:[\w+]+://)?{HOST}(?::\d+)?(?:/[\w-]+)?["']?"""
# Several of them, as a set of nftables, a JSON list, lines of YAML or words hold them.
RUN = re.compile(rf"{ELEMENT}(?:(?:\s*,\s*|\s*;\s*|\s+)(?:-\s+)?{ELEMENT})*")
PLACES = re.compile(PLACE)
ELEMENTS = re.compile(ELEMENT)

OWN = "OWN"
CONTROL = "control"


def plain(address: str) -> str | None:
    """Return an address as it is always spelt, or None for what is none or names more than one."""
    try:
        found: str = ssh_session.plain(address)
    except ValueError:
        return None
    return found


def alone(place: str) -> str | None:
    """Return the one address that a place is, or None."""
    address, _, length = place.partition("/")
    return plain(address) if length in {"", "32" if "." in address else "128"} else None


def _by_address(named: Mapping[str, str]) -> dict[str | None, str]:
    """Return the names by address as it is always spelt; no name has what is no address."""
    return {known: name for address, name in named.items() if (known := plain(address))}


class Roles:
    """What each address of the lab is to one node."""

    def __init__(self, words: Mapping[str, str], own: Mapping[str, str]) -> None:
        """Take roles by address, and by each of the node's own what it is called."""
        roles, self._own = _by_address(words), _by_address(own)
        # An address of the node's own is called by it where it stands alone, else by its role.
        self._alone, self._among = roles | self._own, self._own | roles

    def neutral(self, text: str) -> str:
        """Return the text with the word for its role in each address' place.

        Where several stand together, as in the list of all nodes, they are sorted by role, and
        the node's own counts by its role too: such a list is the same on every node of a lab.
        """
        return RUN.sub(lambda run: self._run(run[0]), text)

    def _run(self, text: str) -> str:
        addresses = [alone(place) for place in PLACES.findall(text)]
        known = [a for a in addresses if a in self._alone]
        if not known:
            return text
        if len(set(known)) == 1:
            return PLACES.sub(lambda place: self._alone.get(alone(place[0]), place[0]), text)
        seen: set[str | None] = set()
        words = []
        for element in ELEMENTS.findall(text):
            address = alone(PLACES.findall(element)[0])
            again = " again" if address in known and address in seen else ""
            seen.add(address)
            named = PLACES.sub(lambda place: self._among.get(alone(place[0]), place[0]), element)
            words.append(named + again)
        own = sorted({self._own[a] for a in known if a in self._own})
        return ", ".join([*sorted(words), *own])
