"""Debian archives: what is served to the installer, and the machines' own sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

EXAMPLES = r"""
- name: Ask apt for its archives
  ansible.builtin.command:
    argv: [apt-get, indextargets, --format, $(LABEL) $(REPO_URI), "Created-By: Packages"]
  register: asked
  changed_when: false

- name: Show what is served to the installer, and the machines' own sources
  ansible.builtin.debug:
    msg:
      - "{{ asked.stdout_lines | netboot_archives(['http://deb.lab/debian']) }}"
      - "{{ asked.stdout_lines | netboot_sources('trixie', '192.168.1.1') }}"
"""

DEBIAN, SECURITY = "Debian", "Debian-Security"
"""Labels of the archives, as apt prints them."""


def _by_label(lines: Sequence[str]) -> dict[str, str]:
    """Return the URI of each archive; `lines` are labels and URIs as apt prints them."""
    return dict(line.split() for line in lines)


def served(lines: Sequence[str], mirrors: Sequence[str]) -> dict[str, list[str]]:
    """Return the URIs that are asked in order, by the name that an archive is served under.

    Without `mirrors`, Debian's packages come from where apt gets them here, as security updates do.
    """
    apt = _by_label(lines)
    found = {"debian": list(mirrors) or [apt[DEBIAN]]}
    if SECURITY in apt:
        found["debian-security"] = [apt[SECURITY]]
    return found


def sources(
    lines: Sequence[str], suite: str, gateway: str, given: Sequence[str] | None = None
) -> list[str]:
    """Return the lines of the machines' sources.list.

    Without `given` lines they are apt's mirrors here, or none for machines without a gateway.
    """
    if given is not None:
        return list(given)
    if not gateway:
        return []
    apt = _by_label(lines)
    debian = [f"deb {apt[DEBIAN]} {part} main" for part in (suite, f"{suite}-updates")]
    security = [f"deb {apt[SECURITY]} {suite}-security main"] if SECURITY in apt else []
    return debian + security


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names that templates use."""
        return {"netboot_archives": served, "netboot_sources": sources}
