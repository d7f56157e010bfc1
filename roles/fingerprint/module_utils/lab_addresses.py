"""Replaces the addresses in a settings file by their roles for the node that has the file."""

import re
from collections.abc import Mapping

from ansible.module_utils import ssh_session

V4 = r"\d{1,3}(?:\.\d{1,3}){3}"
# At least two colons; text that turns out to be no address stays unchanged.
V6 = r"(?:[0-9A-Fa-f]{0,4}:){2,7}(?:" + V4 + r"|[0-9A-Fa-f]{0,4})"
ADDRESS = rf"(?:(?<![\w.:]){V6}(?:%[\w.-]+)?(?![\w:])|(?<![\w.]){V4}(?!\w|\.\d))"
# A range or a network is not a node; both ends of it stay as they are.
PLACE = rf"{ADDRESS}(?:/\d+| ?- ?{ADDRESS})?"
HOST = rf"(?:\[{PLACE}\]|{PLACE})"
ELEMENT = rf"""["']?(?:[\w+]+://)?{HOST}(?::\d+)?(?:/[\w-]+)?["']?"""
# Several of them, as in a set of nftables, a JSON list, lines of YAML or words.
RUN = re.compile(rf"{ELEMENT}(?:(?:\s*,\s*|\s*;\s*|\s+)(?:-\s+)?{ELEMENT})*")
PLACES = re.compile(PLACE)
ELEMENTS = re.compile(ELEMENT)

OWN = "OWN"
CONTROL = "control"


def plain(address: str) -> str | None:
    """Return an address in its canonical form, or None for anything but a single address."""
    try:
        found: str = ssh_session.plain(address)
    except ValueError:
        return None
    return found


def alone(place: str) -> str | None:
    """Return the address of a place that is a single address, or None."""
    address, _, length = place.partition("/")
    return plain(address) if length in {"", "32" if "." in address else "128"} else None


def _by_address(named: Mapping[str, str]) -> dict[str | None, str]:
    """Return the names by canonical address, without those of invalid addresses."""
    return {known: name for address, name in named.items() if (known := plain(address))}


class Roles:
    """The role of each address of the lab for one node."""

    def __init__(self, words: Mapping[str, str], own: Mapping[str, str]) -> None:
        """Take the roles by address, and the words for the node's own addresses."""
        roles, self._own = _by_address(words), _by_address(own)
        # These words stand for the node's own addresses only outside lists.
        self._alone, self._among = roles | self._own, self._own | roles

    def neutral(self, text: str) -> str:
        """Return the text with the word for its role in place of each address.

        Addresses in a list, such as the list of all nodes, are sorted by role, and the node's own
        also counts by its role. So such a list is the same on every node of a lab.
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
