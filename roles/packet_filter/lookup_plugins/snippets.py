"""The site's own rules: files with nftables' rules in a directory of the control host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase

DOCUMENTATION = r"""
name: snippets
short_description: Returns the site's own rules of nftables by the names of their files
options:
  _terms:
    description:
      - The directory that the site named, or an empty text, and the directory of the inventory.
      - Where no directory is named, C(nftables.d) beside the inventory is read if it is there.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Show the site's own rules
  ansible.builtin.debug:
    msg: "{{ lookup('snippets', '', inventory_dir) }}"
"""

# Beside the inventory, where nothing has to be set for it.
DIRECTORY = "nftables.d"
KIND = "*.nft"


def snippets(directory: Path) -> dict[str, str]:
    """Return the text of each file of rules by its name.

    OSError or UnicodeError for unreadable ones.
    """
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(directory.glob(KIND))}


class LookupModule(LookupBase):
    """`snippets`: the directory that was named, or nothing, and the inventory's directory."""

    def run(
        self, terms: list[str], variables: dict[str, Any] | None = None, **_: Any
    ) -> list[dict[str, str]]:
        """Return one dictionary.

        An AnsibleError names a directory or file that is not as it must be.
        """
        named, inventory = terms
        directory = Path(named).expanduser() if named else Path(inventory, DIRECTORY)
        if not named and not (inventory and directory.exists()):
            return [{}]
        if not directory.is_dir():
            raise AnsibleError(
                f"{directory} is no directory; name the one of the site's own rules in "
                "packet_filter_snippets, or leave it empty"
            )
        try:
            found = snippets(directory)
        except (OSError, UnicodeError) as error:
            raise AnsibleError(f"{directory}: {error}; make its files readable text") from error
        if named and not found:
            raise AnsibleError(
                f"{directory} holds no {KIND}; put the site's own rules there, or leave "
                "packet_filter_snippets empty"
            )
        return [found]
