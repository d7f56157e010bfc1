"""Asks a node for the few facts that the roles read."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

DOCUMENTATION = r"""
module: system_facts
short_description: Asks a node for the few facts that the roles read
description:
  - Sets C(distribution), C(distribution_version), C(distribution_major_version), C(service_mgr),
    C(architecture), C(nodename) and C(virtualization_type) among C(ansible_facts), as
    C(ansible.builtin.setup) does, by one question to the node's shell. Debian's version has no
    point release.
  - C(setup) takes four times longer, mostly to be compiled on the node.
options: {}
"""

EXAMPLES = r"""
- name: Ask for the system
  system_facts:
"""

Values = dict[str, Any]

# systemd-detect-virt ends with an error where there is nothing to detect.
QUESTION = """\
. /etc/os-release && echo "ID=$ID" && echo "VERSION_ID=$VERSION_ID"
echo "init=$(cat /proc/1/comm)"; echo "machine=$(uname -m)"; echo "nodename=$(uname -n)"
echo "virtualization=$(systemd-detect-virt)"
"""


class ActionModule(ActionBase):
    """`system_facts`, which takes no arguments."""

    def run(self, tmp: str | None = None, task_vars: Values | None = None) -> Values:
        """Return the facts; a node that does not name its system fails."""
        super().run(tmp, task_vars)
        answer = self._low_level_execute_command(QUESTION)
        said = parsed(answer["stdout_lines"])
        if not said.get("ID"):
            why = (answer["stderr"] or answer["stdout"]).strip()
            raise AnsibleActionFail(f"/etc/os-release does not say which system this is: {why}")
        return {"changed": False, "ansible_facts": facts_of(said)}


def parsed(lines: list[str]) -> dict[str, str]:
    """Return the answer to the question by its names."""
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def facts_of(said: dict[str, str]) -> Values:
    """Return the facts under the names and with the values that Ansible gives them."""
    version = said["VERSION_ID"]
    kind = said["virtualization"]
    return {
        "distribution": said["ID"].capitalize(),
        "distribution_version": version,
        "distribution_major_version": version.partition(".")[0],
        "service_mgr": said["init"],
        "architecture": said["machine"],
        "nodename": said["nodename"],
        "virtualization_type": {"none": "NA", "container-other": "container"}.get(kind, kind),
    }
