"""A checkout with stand-ins for Ansible's programs, which say what a test tells them to."""

import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PLAYBOOK = """\
#!{python}
# Writes the events that are told for this playbook, and waits while a file says so.
import json, os, signal, sys, time
from pathlib import Path
here = Path(__file__).resolve().parents[2]
name = next(Path(word).stem for word in sys.argv if word.startswith("playbooks/"))
with open(here / "called", "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
def stopped(*_):
    (here / "stopped").touch()
    sys.exit(99)
signal.signal(signal.SIGINT, stopped)
print("the output of", name)
told = json.loads((here / "told.json").read_text())
events = Path(os.environ["RACKBENCH_EVENTS"])
for event in told.get(name, [{{"event": "end", "ok": True, "changed": {{}}}}]):
    with events.open("a") as file:
        file.write(json.dumps({{"at": time.time(), **event}}) + "\\n")
    while event["event"] == "play" and (here / "hold").exists():
        time.sleep(0.05)
    failed = event["event"] == "end" and not event["ok"]
sys.exit(2 if failed else 0)
"""
INVENTORY = """\
#!{python}
from pathlib import Path
print((Path(__file__).resolve().parents[2] / "inventory.json").read_text())
"""
ANSIBLE = """\
#!{python}
# Writes what `ansible nodes -m debug -a var=baseline_sockets --tree DIRECTORY` does.
import json, sys
from pathlib import Path
inventory = Path(__file__).resolve().parents[2] / "inventory.json"
for name in json.loads(inventory.read_text())["_meta"]["hostvars"]:
    sockets = {{"tomcat_port": "192.0.2.9:8080"}}
    (Path(sys.argv[-1]) / name).write_text(json.dumps({{"baseline_sockets": sockets}}))
"""


def play(name, at=None):
    """The event of a play; `at` in seconds since 1970."""
    return {"event": "play", "name": name, **({} if at is None else {"at": at})}


def failed(node, reason, task="role : Install | Get it"):
    return {"event": "failed", "task": task, "node": node, "reason": reason}


def end(*, ok=True, **changed):
    return {"event": "end", "ok": ok, "changed": changed}


def interrupt_after(monkeypatch, name):
    """Send Ctrl-C when this function has returned."""
    module, _, function = name.rpartition(".")
    called = getattr(importlib.import_module(module), function)

    def interrupted(*arguments):
        value = called(*arguments)
        signal.raise_signal(signal.SIGINT)
        return value

    monkeypatch.setattr(name, interrupted)


class StandIn:
    """A checkout in a directory, the projects of which a test makes itself."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / ".venv/bin").mkdir(parents=True)
        programs = {
            "ansible-playbook": PLAYBOOK,
            "ansible-inventory": INVENTORY,
            "ansible": ANSIBLE,
        }
        for name, text in programs.items():
            program = root / ".venv/bin" / name
            program.write_text(text.format(python=sys.executable))
            program.chmod(0o755)
        (root / "playbooks").mkdir()
        (root / "playbooks/studies").symlink_to(ROOT / "playbooks/studies")
        (root / "playbooks/site.yml").touch()
        (root / "ansible.cfg").touch()
        for name in ("inventory", "roles"):
            (root / name).symlink_to(ROOT / name)
        self.tell()
        self.have()

    def tell(self, **events) -> None:
        """Set the events of each playbook, by its name without .yml."""
        (self.root / "told.json").write_text(json.dumps(events))

    def have(self, workers=3, kind="physical", **addresses) -> None:
        """Set the inventory: so many workers, and addresses other than usual."""
        names = ["client1", "broker1", *(f"worker{k}" for k in range(1, workers + 1))]
        hosts = {
            name: {
                "ansible_host": addresses.get(name, f"192.0.2.{place}"),
                "node_address": addresses.get(name, f"192.0.2.{place}"),
                "ansible_become": True,
                "rackbench_lab_kind": kind,
            }
            for place, name in enumerate(names, 1)
        }
        content = {
            "_meta": {"hostvars": hosts},
            "all": {"children": ["control", "nodes"]},
            "control": {"hosts": ["localhost"]},
            "nodes": {"children": ["client", "broker", "workers"]},
            "client": {"hosts": names[:1]},
            "broker": {"hosts": names[1:2]},
            "workers": {"hosts": names[2:]},
        }
        (self.root / "inventory.json").write_text(json.dumps(content))

    def set(self, host: str, **values) -> None:
        """Set further variables of a host."""
        file = self.root / "inventory.json"
        content = json.loads(file.read_text())
        hostvars = content["_meta"]["hostvars"]
        hostvars[host] = {**hostvars.get(host, {}), **values}
        file.write_text(json.dumps(content))

    @property
    def called(self) -> list[list[str]]:
        """The arguments of each playbook that was run."""
        path = self.root / "called"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def played(self) -> list[str]:
        """The names of the playbooks that were run."""
        return [next(w for w in words if w.startswith("playbooks/"))[10:] for words in self.called]

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start the program as a user does, from the checkout."""
        return subprocess.Popen(
            [sys.executable, "-m", "collect.front", *arguments],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(self.root / "state")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
