"""Boots machines from the network by commands of maintained tools."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError

EXAMPLES = r"""
- name: Refuse machines that cannot be started from here
  ansible.builtin.fail:
    msg: "{{ machines | netboot_power_problems }}"
  when: machines | netboot_power_problems | length > 0

- name: Get the tools that start them
  ansible.builtin.apt:
    name: "{{ machines | netboot_power_packages }}"

- name: Show how many can be started
  ansible.builtin.debug:
    msg: "{{ machines | netboot_starts('192.168.1.255') | length }}"
"""

Command = dict[str, Any]

_URL = re.compile(r"https?://[^\s/]\S*")
_PLACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:-]*")
_REDFISH = Path(__file__).parents[1] / "files/boot_by_redfish.py"

_MUST_BE = (
    "must be wake, {ipmi: ADDRESS, user: …, password: …} or "
    "{redfish: https://…/redfish/v1/Systems/…, user: …, password: …}, the latter also with "
    "public_key: sha256//…; correct the inventory"
)


def power_problems(machines: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the machines whose netboot_power is invalid.

    The text omits its value, which may be a password.
    """
    return [
        f"{machine['name']}: netboot_power {_MUST_BE}"
        for machine in machines
        if not _is_known(machine["power"])
    ]


def _is_known(power: Any) -> bool:
    if not isinstance(power, Mapping):
        return power in ("", "wake")
    own = power.keys() - {"user", "password"}
    given = [str(value) for value in power.values() if isinstance(value, str | int)]
    return (
        own in ({"ipmi"}, {"redfish"}, {"redfish", "public_key"})
        and len(given) == len(power) == len(own) + 2
        and all(given)
        and not any(character in value for value in given for character in "\r\n\0")
        and ("redfish" not in power or bool(_URL.fullmatch(str(power["redfish"]))))
        and ("ipmi" not in power or bool(_PLACE.fullmatch(str(power["ipmi"]))))
    )


def power_commands(
    power: Mapping[str, Any] | str, mac: str, broadcast: str, *, uefi: bool = False
) -> list[list[Command]]:
    """Return the steps that boot a machine from the network; of each, one command must succeed.

    Each command is `name`, `argv`, `environment`, `stdin`. All commands of a step run: a machine
    that is off cannot be reset, one that is on cannot be switched on, and one that was just
    switched on is not always reset. The command for a machine with UEFI requests that mode.

    `power` is `wake`, or a mapping with `ipmi` (address of the management controller) or `redfish`
    (URL of the system), `user` and `password`; nothing means by hand. With `public_key`
    (`sha256//…`) that key alone decides the trust in a Redfish controller. No command line has a
    password. Raises AnsibleFilterError for anything else.
    """
    if not power:
        return []
    if power == "wake":
        return [[_command("wakeonlan", "-i", broadcast, mac)]]
    if not isinstance(power, Mapping) or not _is_known(power):
        raise AnsibleFilterError(f"netboot_power {_MUST_BE}")
    given = dict(power)
    password = str(given["password"])
    if "ipmi" in given:
        account = ("-U", str(given["user"]), "-E")
        tool = ("ipmitool", "-I", "lanplus", "-H", str(given["ipmi"]), *account)
        secret = {"IPMI_PASSWORD": password}
        boot_by = ("bootdev", "pxe", *(["options=efiboot"] if uefi else []))
        tasks = (boot_by, ("power", "on"), ("power", "reset"))
        boot, *starts = [_command(*tool, "chassis", *task, environment=secret) for task in tasks]
        return [[boot], starts]
    # curl's configuration has the quotes of JSON, but not its \u.
    user = json.dumps(f"{given['user']}:{password}", ensure_ascii=False)
    config = f"user = {user}\n"
    if key := given.get("public_key"):
        config += f"insecure\npinnedpubkey = {json.dumps(key)}\n"
    system, mode = str(given["redfish"]).rstrip("/"), "UEFI" if uefi else "Legacy"
    return [[_command(sys.executable, str(_REDFISH), system, mode, stdin=config, name="Redfish")]]


def _command(
    *argv: str, environment: dict[str, str] | None = None, stdin: str = "", name: str = ""
) -> Command:
    name = name or argv[0]
    return {"name": name, "argv": list(argv), "environment": environment or {}, "stdin": stdin}


def machine_starts(machines: Sequence[Mapping[str, Any]], broadcast: str) -> list[dict[str, Any]]:
    """For each machine its `name` and the steps of its `power`."""
    return [
        {
            "name": machine["name"],
            "power": power_commands(
                machine["power"], machine["mac"], broadcast, uefi=machine["uefi"]
            ),
        }
        for machine in machines
    ]


def power_packages(machines: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the Debian packages that start these machines."""
    tools = {"wake": "wakeonlan", "ipmi": "ipmitool", "redfish": "curl"}
    # `in` finds the word `wake` as well as the key of a mapping.
    return [
        package
        for kind, package in tools.items()
        if any(kind in machine["power"] for machine in machines)
    ]


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """Return the filters by the names that templates use."""
        return {
            "netboot_starts": machine_starts,
            "netboot_power_packages": power_packages,
            "netboot_power_problems": power_problems,
        }
