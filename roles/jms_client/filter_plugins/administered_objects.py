"""A JNDI file store made from a sample of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ansible.errors import AnsibleFilterError

EXAMPLES = r"""
- name: Write a store with two queues
  ansible.builtin.copy:
    content: "{{ sample | jms_client_bindings(['sort.pool1', 'sort.pool3']) }}"
    dest: /etc/rackbench/jndi/.bindings
    mode: "0644"
"""

SAMPLE = "sample"
"""The sample's only queue, by its JNDI name and by its name on the broker."""


def bindings(sample: str, queues: Iterable[str]) -> str:
    """Return the text of a `.bindings` file with the sample's connection factory and the queues.

    Names are letters, digits, dots and underscores, so that nothing in them needs a backslash.
    Raises AnsibleFilterError where the sample holds no queue to copy.
    """
    lines = sample.splitlines()
    queue = [line.removeprefix(SAMPLE) for line in lines if line.startswith(f"{SAMPLE}/")]
    others = [line for line in lines if not line.startswith(("#", f"{SAMPLE}/"))]
    if not any(line.endswith(f"/Content={SAMPLE}") for line in queue):
        raise AnsibleFilterError(
            f"the broker's administered objects lack the queue {SAMPLE}; remove "
            "/etc/rackbench/openmq/objects there and run site.yml again"
        )
    for name in sorted(set(queues)):
        for line in queue:
            key, content, value = line.partition("/Content=")
            others.append(name + key + content + (name if value == SAMPLE else value))
    return "\n".join([*others, ""])


class FilterModule:
    """The filter of the role."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names that templates use."""
        return {"jms_client_bindings": bindings}
