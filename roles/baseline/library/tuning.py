#!/usr/bin/python
"""Applies settings that make a node steady, records the original ones, and restores them."""

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
  governors:
    description: Governors that C(state=checked) refuses unless the machine offers all of them.
    type: list
    elements: str
    default: []
  settings:
    description:
      - The settings to apply; each key is the role's variable without C(baseline_), but
        C(units_off) are units to stop and disable if they are installed, and C(hostname) is the
        node's host name. A setting that is missing, null or empty is left as it is.
      - A unit of an earlier list that C(units_off) no longer names runs again, as it did before.
        Empty C(jvm_cpus) and C(jvm_numa) remove a limit.
    type: dict
"""

EXAMPLES = r"""
- name: Make the node steady
  tuning:
    settings: {governor: performance, turbo: false, units_off: [apt-daily.timer], hold: ["*"]}

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
SETTINGS = {
    "str": ("governor", "huge_pages", "irq_cpus", "jvm_cpus", "jvm_numa", "hostname"),
    "bool": ("turbo", "swap"),
    "int": ("max_cstate_us", "tcp_tw_reuse"),
    "list": ("units_off", "hold", "port_range"),
}


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
    steps.add_to_record(root, *((step.kind, step.found) for step in planned))
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
    keys: dict[str, Any] = {key: {"type": kind} for kind in SETTINGS for key in SETTINGS[kind]}
    for key in SETTINGS["list"]:
        keys[key]["default"] = []
    module = AnsibleModule(
        argument_spec={
            "state": {"choices": ["tuned", "reset", "checked"], "default": "tuned"},
            "governors": {"type": "list", "elements": "str", "default": []},
            "settings": {"type": "dict", "options": keys, "apply_defaults": True},
        },
        supports_check_mode=True,
    )
    root, state, asked = Path("/"), module.params["state"], module.params["settings"]
    if state != "reset" and (refused := cpu_lists.refusals(root, asked)):
        module.fail_json(msg=f"baseline_{'; baseline_'.join(refused)}")
    if state == "checked":
        if reasons := processor.refused_governors(root, module.params["governors"]):
            module.fail_json(
                msg=f"A study needs the governor {' and '.join(module.params['governors'])}, "
                f"but {'; '.join(reasons)}. Remove governor from the study, or sweep it on "
                "machines that offer it."
            )
        module.exit_json(changed=False, settings=[], left={})
    try:
        if state == "reset":
            settings, left = reset(root, check=module.check_mode)
        else:
            settings, left = tune(root, asked, check=module.check_mode)
    except OSError as error:
        module.fail_json(msg=str(error))
    if state == "reset" and left:
        module.fail_json(msg=unrestored(root, left), left=left)
    for name, reason in left.items():
        module.warn(f"{name} is left as it is: {reason}")
    module.exit_json(changed=bool(settings), settings=settings, left=left)


if __name__ == "__main__":
    main()
