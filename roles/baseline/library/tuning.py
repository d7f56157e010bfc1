#!/usr/bin/python
"""Applies settings that make a node steady, records the original ones, and restores them."""

from __future__ import annotations

DOCUMENTATION = r"""
module: tuning
short_description: Applies settings that make a node steady, and restores the original ones
description:
  - Frequency governor, turbo, idle states, swap, huge pages, interrupts, the ports of clients, the
    processors and memory of rackbench's services, units that would work during a trial, versions of
    packages, and the node's name. A setting that is not given is left as it is.
  - The original settings are recorded on the node before the first change; C(state=reset) restores
    them.
  - A setting that cannot be applied is left and reported with its reason. A container shares its
    host's kernel, so only the ports are set there, which belong to its own network.
options:
  state:
    description: Whether to apply, to restore, or only to refuse settings that this machine lacks.
    choices: [tuned, reset, checked]
    type: str
    default: tuned
  governor: {description: Frequency governor of every core; empty leaves it, type: str, default: ""}
  governors:
    description: Governors that C(state=checked) refuses unless the machine offers all of them.
    type: list
    elements: str
    default: []
  turbo: {description: Whether cores may exceed their nominal rate, type: bool}
  swap: {description: C(false) turns swap off now and at boot, type: bool}
  huge_pages: {description: Transparent huge pages; empty leaves them, type: str, default: ""}
  units_off:
    description: Units to stop and disable if they are installed. Those of an earlier list that is
      no longer theirs run again, as they did before.
    type: list
    elements: str
    default: []
  hold:
    description: Name patterns of installed packages that stay at their version.
    type: list
    elements: str
    default: []
  max_cstate_us:
    description: Idle states with a longer exit latency, in microseconds, are switched off.
    type: int
  irq_cpus: {description: Processors for interrupts, as C(0-3,8), type: str, default: ""}
  port_range:
    description: First and last local port of connections that the node opens; empty leaves them.
    type: list
    elements: int
    default: []
  tcp_tw_reuse:
    description: Whether a new connection may use a port in TIME_WAIT, as the kernel numbers it.
    type: int
  service_cpus:
    description: Processors of rackbench's services; empty removes the limit. A change restarts
      running services.
    type: str
  service_numa: {description: The same for NUMA nodes, type: str}
  hostname: {description: The node's host name; empty leaves it, type: str, default: ""}
"""

EXAMPLES = r"""
- name: Make the node steady
  tuning:
    governor: performance
    turbo: false
    swap: false
    units_off: [apt-daily.timer]
    hold: ["*"]

- name: Restore the node's original settings
  tuning:
    state: reset
"""

RETURN = r"""
settings:
  description: Names of the settings that were applied or restored.
  type: list
  returned: always
left:
  description: Requested settings that were left as they are, with the reason.
  type: dict
  returned: always
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

# All parts by their full names: mitogen transfers only modules that are imported in this way.
from ansible.module_utils.tuning import (
    cpu_lists,
    holds,
    host_name,
    interrupts,
    kernel,
    memory,
    placement,
    ports,
    processor,
    steps,
    units,
)

SUBJECTS = (interrupts, placement, host_name, memory, units, holds)


def plan(root: Path, params: dict[str, Any]) -> tuple[list[steps.Step], dict[str, str]]:
    """Return the steps to take, and the settings that are left, with the reason."""
    sought = processor.files(root, params) | memory.files(root, params) | ports.files(root, params)
    found = list(kernel.steps(root, sought))
    found += [step for subject in SUBJECTS for step in subject.steps(root, params)]
    left = {one.name: one.reason for one in found if isinstance(one, steps.Left)}
    return [one for one in found if isinstance(one, steps.Step)], left


def tune(root: Path, params: dict[str, Any], *, check: bool) -> tuple[list[str], dict[str, str]]:
    """Record the node's state, then change it; return the settings applied and those left."""
    planned, left = plan(root, params)
    if check or not planned:
        return [step.name for step in planned], left
    steps.add_to_record(root, planned)
    done = []
    for step in planned:
        try:
            step.do()
            done.append(step.name)
        except OSError as error:
            left[step.name] = str(error)
    return done, left


def reset(root: Path, *, check: bool) -> tuple[list[str], dict[str, str]]:
    """Restore the settings of the record, and remove it."""
    record = steps.read_record(root)
    left: dict[str, str] = {}
    if check:
        return list(record), {}
    ways = {"at_boot": no_more_at_boot}
    for subject in (kernel, *SUBJECTS):
        ways |= subject.BACK
    for kind, found in record.items():
        try:
            ways[kind](root, found)
        except OSError as error:
            left[kind] = str(error)
    if record and not left:
        (root / steps.RECORD).unlink()
    return [kind for kind in record if kind not in left], left


def unrestored(root: Path, left: dict[str, str]) -> str:
    """Return the message that these kinds of settings were not restored, with the next step."""
    reasons = "; ".join(f"{kind}: {reason}" for kind, reason in left.items())
    return (
        f"Some settings were not restored ({reasons}). {root / steps.RECORD} keeps the original "
        "values: correct the cause, or remove from that file what this node no longer has, and run "
        "playbooks/reset.yml again"
    )


def no_more_at_boot(root: Path, _: object) -> None:
    """Leave settings that each boot makes by itself to the next boot."""
    for name in (kernel.AT_BOOT, interrupts.AT_BOOT):
        (root / name).unlink(missing_ok=True)


def main() -> None:
    """Do what the task asks."""
    words = {"type": "list", "elements": "str", "default": []}
    module = AnsibleModule(
        argument_spec={
            "state": {"choices": ["tuned", "reset", "checked"], "default": "tuned"},
            "governor": {"default": ""},
            "governors": words,
            "turbo": {"type": "bool"},
            "swap": {"type": "bool"},
            "huge_pages": {"default": ""},
            "units_off": words,
            "hold": words,
            "max_cstate_us": {"type": "int"},
            "irq_cpus": {"default": ""},
            "port_range": {"type": "list", "elements": "int", "default": []},
            "tcp_tw_reuse": {"type": "int"},
            "service_cpus": {},
            "service_numa": {},
            "hostname": {"default": ""},
        },
        supports_check_mode=True,
    )
    root = Path("/")
    if module.params["state"] != "reset" and (refused := cpu_lists.refusals(root, module.params)):
        module.fail_json(msg=f"baseline_{'; baseline_'.join(refused)}")
    if module.params["state"] == "checked":
        if reasons := processor.refused_governors(root, module.params["governors"]):
            module.fail_json(
                msg=f"A study needs the governor {' and '.join(module.params['governors'])}, "
                f"but {'; '.join(reasons)}. Remove governor from the study, or sweep it on "
                "machines that offer it."
            )
        module.exit_json(changed=False, settings=[], left={})
    try:
        if module.params["state"] == "reset":
            settings, left = reset(root, check=module.check_mode)
        else:
            settings, left = tune(root, module.params, check=module.check_mode)
    except OSError as error:
        module.fail_json(msg=str(error))
    if module.params["state"] == "reset" and left:
        module.fail_json(msg=unrestored(root, left), left=left)
    for name, reason in left.items():
        module.warn(f"{name} is left as it is: {reason}")
    module.exit_json(changed=bool(settings), settings=settings, left=left)


if __name__ == "__main__":
    main()
