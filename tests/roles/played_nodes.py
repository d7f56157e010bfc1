"""Nodes that a directory and a few stubs of commands play, for playbooks that need no lab.

Each is this machine by an `ssh` of its own, behind which `systemctl` knows the units that lie as
directories of properties in the node's directory; nothing else is changed.
"""

import getpass
import json
import os
import platform
import re
import subprocess
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from loading import ROOT

GROUPS = {"client": ["client1"], "broker": ["broker1"], "workers": ["worker1", "worker2"]}
ADDRESSES = {
    name: f"192.0.2.{place}" for place, name in enumerate(chain(*GROUPS.values()), start=1)
}
ME = f"{getpass.getuser()}@{platform.node()}"

SSH = """#!/bin/sh
export NODE={node} PATH={stubs}:$PATH
for command; do :; done
exec /bin/sh -c "$command"
"""
SYSTEMCTL = """#!/bin/sh
case "$1 $2" in
"show -P")
  unit=$NODE/$4
  if [ -e "$unit/$3" ]; then cat "$unit/$3"
  elif [ "$3" = ActiveState ]; then echo inactive
  elif [ "$3" = Description ]; then echo "$4"; fi ;;
show\\ *)
  unit=$NODE/$2
  [ -d "$unit" ] || {
    printf 'LoadState=not-found\\nActiveState=inactive\\nDescription=%s\\n' "$2"
    exit
  }
  echo LoadState=loaded
  for file in "$unit"/*; do echo "${file##*/}=$(cat "$file")"; done ;;
stop\\ *) rm -r "$NODE/$2"; echo "$2" >>"$NODE/stopped" ;;
*) exit 1 ;;
esac
"""
SYSTEMD_RUN = """#!/bin/sh
for word; do
  case $word in
  --wait) cat >/dev/null; exit ;;  # a check of clients, which finds nothing
  --unit=*) unit=$NODE/${word#*=} ;;
  --description=*) description=${word#*=} ;;
  esac
done
mkdir "$unit" 2>/dev/null || { echo "Unit ${unit##*/} was already loaded" >&2; exit 1; }
echo active >"$unit/ActiveState"
echo "$description" >"$unit/Description"
date >"$unit/ActiveEnterTimestamp"
"""
STUBS = {
    "systemctl": SYSTEMCTL,
    "systemd-run": SYSTEMD_RUN,
    "journalctl": "#!/bin/sh\necho it is all in the journal\n",
}


@dataclass
class Lab:
    """An inventory of such nodes, all below one directory."""

    directory: Path

    def __post_init__(self):
        stubs = self.directory / "stubs"
        stubs.mkdir()
        for name, text in STUBS.items():
            self._program(stubs / name, text)
        for name in ADDRESSES:
            self.node(name).mkdir()
            text = SSH.format(node=self.node(name), stubs=stubs)
            self._program(self.node(name) / "ssh", text)
        self.write()

    def _program(self, path, text):
        path.write_text(text)
        path.chmod(0o755)

    def node(self, name):
        """The directory that stands for a node."""
        return self.directory / name

    def write(self, groups=GROUPS, **hosts):
        """Write the inventory; `hosts` are further variables of nodes, by name."""
        children = {
            group: {
                "hosts": {
                    name: {
                        "ansible_host": ADDRESSES[name],
                        "ansible_ssh_executable": str(self.node(name) / "ssh"),
                        **hosts.get(name, {}),
                    }
                    for name in names
                }
            }
            for group, names in groups.items()
        }
        inventory = {
            "all": {
                "vars": {
                    "rackbench_lab": "played",
                    "rackbench_lab_kind": "physical",
                    "rackbench_network": "192.0.2.0/24",
                    "rackbench_control": "",
                    "rackbench_link_mbit": 1000,
                    "ansible_python_interpreter": "{{ ansible_playbook_python }}",
                    "at_work_mark": "$NODE/passwords-of",
                    "at_work_polls": "$NODE/polls",
                },
                "children": {
                    "control": {"hosts": {"localhost": {"ansible_connection": "local"}}},
                    "nodes": {"children": children},
                },
            }
        }
        (self.directory / "inventory").mkdir(exist_ok=True)
        (self.directory / "inventory/hosts.yml").write_text(json.dumps(inventory))

    def runs(self, node, unit, description, **properties):
        """Let a unit be at work on a node."""
        directory = self.node(node) / unit
        directory.mkdir()
        told = {
            "ActiveState": "active",
            "Description": description,
            "ActiveEnterTimestamp": "Thu 2026-11-26 21:04:05 UTC",
            **properties,
        }
        for name, value in told.items():
            (directory / name).write_text(f"{value}\n")

    def description(self, node, unit):
        """What a unit is described as, empty for one that is not there."""
        file = self.node(node) / unit / "Description"
        return file.read_text().strip() if file.exists() else ""

    def play(self, playbook, *options, **extra):
        """Run a playbook, one of rackbench's or the text of one; its status and what it said."""
        path = f"playbooks/{playbook}"
        if "\n" in playbook:
            path = self.directory / "play.yml"
            path.write_text(playbook)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("ANSIBLE_")}
        done = subprocess.run(
            [
                *(ROOT / ".venv/bin/ansible-playbook", "-i", self.directory / "inventory"),
                *("-e", json.dumps(extra), path, *options),
            ],
            cwd=ROOT,
            env={**inherited, "ANSIBLE_NOCOLOR": "1", "XDG_STATE_HOME": str(self.directory)},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, re.sub(r"\s+", " ", done.stdout + done.stderr)
