#!/usr/bin/python
"""Boots and removes the nodes of a virtual lab: real systemd under systemd-nspawn on one bridge."""

DOCUMENTATION = r"""
module: virtual_lab
short_description: Boots and removes the nodes of a virtual lab
description:
  - Each node has an overlay on a shared image; one bridge connects all; links are shaped both ways.
  - Reads the state from the kernel (mounts, processes, links), never from a record of an earlier
    run, so it repairs the remains of a crash.
options:
  state:
    description: C(checked) only checks whether the lab can be created, C(down) removes it.
    choices: [checked, up, down]
    type: str
    default: up
  authorized_key: {description: The public key that logs in; needed to go up, type: str}
  left_out: {description: Names of nodes to leave alone, type: list, elements: str, default: []}
  despite_sweep:
    description: Whether nodes are removed and links changed during a sweep.
    type: bool
    default: false
  lab:
    description: The lab's settings; each key is the role's variable without C(virtual_lab_).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Remove the lab that the variables of the role describe
  virtual_lab:
    state: down
    lab: "{{ __virtual_lab_description }}"
"""

RETURN = r"""
host_keys:
  description: The public SSH host key of each node.
  type: dict
  returned: when state is up
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.host import HostError
from ansible.module_utils.virtual_lab import bridge, kernel, node, tree
from ansible.module_utils.virtual_lab.check import check, check_key
from ansible.module_utils.virtual_lab.lab import Lab, Node

KINDS: dict[Any, str] = {str: "str", Path: "path", int: "int", float: "float", bool: "bool"}
AT_ONCE = 4


def up(lab: Lab, nodes: list[Node], left_out: list[str]) -> tuple[bool, dict[str, str]]:
    """Bring up all nodes in parallel; return the changes and the public host keys."""
    wanted = {one.name for one in nodes}
    stale = [one for one in lab.known_nodes() if one.name not in wanted]
    used = [one for one in nodes if one.name not in left_out]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(node.remove, stale))
        booted = node.init_of(used)
        runs = dict(zip(used, pool.map(lambda one: node.runs(one, booted), used), strict=True))
        missing = [one for one in used if not runs[one]]
        if missing:
            kernel.widen_watches(lab)
        changed = [bool(stale), bridge.make_bridge(lab), bridge.set_internet(lab)]
        changed += pool.map(lambda one: node.bring_up(one, runs=runs[one]), used)
        list(pool.map(node.await_boot, missing))
    keys = {one.name: tree.host_key(one).with_suffix(".pub").read_text() for one in nodes}
    return any(changed), {name: " ".join(key.split()[:2]) for name, key in keys.items()}


def down(lab: Lab) -> bool:
    """Remove the whole lab; return whether there was anything to remove."""
    nodes = lab.known_nodes()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(node.remove, nodes))
    bridge.drop_namespaces()
    changed = [bool(nodes), bridge.close_internet(lab), kernel.restore(lab, kernel.WATCHES)]
    changed.append(bridge.drop_bridge(lab))
    for record in kernel.records(lab):
        record.unlink()
    for directory in (lab.root / "nodes", lab.root / "kernel", lab.root):
        with suppress(OSError):  # it has files of others
            directory.rmdir()
    return any(changed)


def refuse_during_sweep(nodes: list[Node]) -> None:
    """Raise HostError if a sweep runs on one of these nodes, which are to be removed."""
    if busy := node.sweeping(nodes):
        raise HostError(
            f"A sweep runs on {', '.join(busy)}. Wait for its end, or remove the lab all the same, "
            "with the trials that were not pulled: -e despite_sweep=true"
        )


def refuse_other_links(nodes: list[Node]) -> None:
    """Raise HostError if links of these nodes would change while a sweep runs."""
    if others := [one.name for one in nodes if bridge.ends_to_shape(one)]:
        raise HostError(
            f"A sweep runs, and the links of {', '.join(others)} would change under its trials. "
            "Wait for its end, or change them all the same: -e despite_sweep=true"
        )


def main() -> None:
    """Do what the task asks."""
    kinds = {one.name: KINDS[one.type] for one in fields(Lab) if one.type in KINDS}
    kinds["nodes"] = "dict"
    keys = {key: {"type": kind, "required": True} for key, kind in kinds.items()}
    module = AnsibleModule(
        argument_spec={
            "state": {"choices": ["checked", "up", "down"], "default": "up"},
            "authorized_key": {"no_log": False},
            "left_out": {"type": "list", "elements": "str", "default": []},
            "despite_sweep": {"type": "bool", "default": False},
            "lab": {"type": "dict", "required": True, "options": keys},
        },
        required_if=[("state", "up", ["authorized_key"])],
        supports_check_mode=True,
    )
    state = module.params["state"]
    wanted = dict(module.params["lab"], authorized_key=module.params["authorized_key"])
    members = wanted.pop("nodes")
    wanted.update(root=Path(wanted["root"]), image=Path(wanted["image"]))
    lab = Lab(**wanted)
    nodes = [Node(lab, name, address) for name, address in members.items()]
    try:
        if state == "down":
            if not module.params["despite_sweep"]:
                refuse_during_sweep(lab.known_nodes())
            left = bool(lab.known_nodes() or bridge.bridge_of(lab) or kernel.records(lab))
            module.exit_json(changed=left if module.check_mode else down(lab))
        running = node.init_of(nodes)
        check(lab, nodes, running)
        if state == "checked":
            module.exit_json(changed=False, running=sorted(running))
        if module.check_mode:
            module.exit_json(changed=len(running) < len(nodes), host_keys={})
        kept = set(running) - set(module.params["left_out"])
        check_key([one for one in nodes if one.name in kept])
        if not module.params["despite_sweep"] and node.sweeping(lab.known_nodes()):
            refuse_other_links([one for one in nodes if one.name in kept])
        changed, host_keys = up(lab, nodes, module.params["left_out"])
    except HostError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=changed, host_keys=host_keys)


if __name__ == "__main__":
    main()
