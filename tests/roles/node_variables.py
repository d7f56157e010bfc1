"""What variables come to on each node of an inventory, as Ansible itself says."""

import json
import os
import re
import subprocess

from loading import ROOT


def of_nodes(directory, inventory, expression):
    """Return by node what an expression of Jinja comes to, for a project in a directory."""
    said = subprocess.run(
        [
            *(ROOT / ".venv/bin/ansible", "nodes", "--one-line", "-i", inventory),
            *("-m", "debug", "-a", f"msg={{{{ {expression} }}}}"),
        ],
        cwd=directory,
        env={**os.environ, "ANSIBLE_CALLBACK_RESULT_FORMAT": "json"},
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    rows = re.findall(r"(?m)^(\S+) \| SUCCESS => (.*)$", said)
    return {node: json.loads(row)["msg"] for node, row in rows}
