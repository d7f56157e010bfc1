"""How machines are made to boot from the network: commands of well-kept tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

Command = dict[str, Any]

_BOOT = {"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"}}


def power_commands(power: Mapping[str, Any] | str, mac: str, broadcast: str) -> list[Command]:
    """The commands that let a machine boot from the network, each `argv`, `environment`, `stdin`.

    `power` is `wake`, or a mapping with `ipmi` (address of the management controller) or `redfish`
    (URL of the system), `user` and `password`; nothing means by hand. Passwords are in no command
    line. Raises AnsibleFilterError for anything else.
    """
    if not power:
        return []
    if power == "wake":
        return [_command("wakeonlan", "-i", broadcast, mac)]
    given = dict(power) if isinstance(power, Mapping) else {}
    kind = {"ipmi", "redfish"} & given.keys()
    if len(kind) != 1 or given.keys() - kind != {"user", "password"}:
        raise AnsibleFilterError(
            "netboot_power must be wake, {ipmi: ADDRESS, user: …, password: …} or "
            "{redfish: https://…/redfish/v1/Systems/…, user: …, password: …}; correct the inventory"
        )
    password = str(given["password"])
    if "ipmi" in given:
        account = ("-U", str(given["user"]), "-E")
        tool = ("ipmitool", "-I", "lanplus", "-H", str(given["ipmi"]), *account)
        secret = {"IPMI_PASSWORD": password}
        # A machine that is off cannot be reset, one that is on is not switched on.
        return [
            _command(*tool, "chassis", "bootdev", "pxe", environment=secret),
            _command(*tool, "chassis", "power", "on", environment=secret),
            _command(*tool, "chassis", "power", "reset", environment=secret),
        ]
    system = str(given["redfish"]).rstrip("/")
    account = f"user = {json.dumps(given['user'] + ':' + password)}\n"
    restart = f"{system}/Actions/ComputerSystem.Reset"
    return [
        _request("PATCH", system, _BOOT, account, "--fail"),
        # Some controllers refuse this of a machine that is on.
        _request("POST", restart, {"ResetType": "On"}, account),
        _request("POST", restart, {"ResetType": "ForceRestart"}, account, "--fail"),
    ]


def _command(*argv: str, environment: dict[str, str] | None = None, stdin: str = "") -> Command:
    return {"argv": list(argv), "environment": environment or {}, "stdin": stdin}


def _request(method: str, url: str, body: Mapping[str, Any], account: str, *more: str) -> Command:
    header = ("--header", "Content-Type: application/json")
    told = ("--request", method, *header, "--data", json.dumps(body), *more, url)
    return _command("curl", "--silent", "--show-error", "--config", "-", *told, stdin=account)


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """By the name templates use."""
        return {"netboot_power_commands": power_commands}
