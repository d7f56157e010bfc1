"""The words of the arguments that an inventory gives ssh."""

from __future__ import annotations

import shlex
from typing import Any

from ansible.errors import AnsibleFilterError

EXAMPLES = r"""
- name: Show the words of the arguments
  ansible.builtin.debug:
    msg: "{{ '-o ProxyJump=me@gateway' | known_host_words }}"  # ['-o', 'ProxyJump=me@gateway']
"""


def words(text: str) -> list[str]:
    """Split as Ansible's own SSH connection does: quotes hold words together, nothing is run.

    Raises AnsibleFilterError.
    """
    try:
        return shlex.split(text)
    except ValueError as error:
        raise AnsibleFilterError(
            f"the arguments for ssh {text!r} cannot be split ({error}); correct "
            "ansible_ssh_common_args in the inventory"
        ) from None


class FilterModule:
    """Makes `known_host_words` known to templates."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by the name that templates use."""
        return {"known_host_words": words}
