"""How machines are made to boot from the network: commands of well-kept tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

Command = dict[str, Any]

_BOOT = {"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"}}


def power_commands(power: Mapping[str, Any] | str, mac: str, broadcast: str) -> list[list[Command]]:
    """The steps that let a machine boot from the network: commands of which one must succeed.

    Each is `argv`, `environment`, `stdin`. All of a step are run: what is off cannot be reset, what
    is on not switched on, and what was just switched on is not always reset.

    `power` is `wake`, or a mapping with `ipmi` (address of the management controller) or `redfish`
    (URL of the system), `user` and `password`; nothing means by hand. With `public_key`
    (`sha256//…`) a Redfish controller needs that key and no other trust. Passwords are in no
    command line. Raises AnsibleFilterError for anything else.
    """
    if not power:
        return []
    if power == "wake":
        return [[_command("wakeonlan", "-i", broadcast, mac)]]
    given = dict(power) if isinstance(power, Mapping) else {}
    own = given.keys() - {"user", "password"}
    if own not in ({"ipmi"}, {"redfish"}, {"redfish", "public_key"}) or len(given) != len(own) + 2:
        raise AnsibleFilterError(
            "netboot_power must be wake, {ipmi: ADDRESS, user: …, password: …} or "
            "{redfish: https://…/redfish/v1/Systems/…, user: …, password: …}, the latter also with "
            "public_key: sha256//…; correct the inventory"
        )
    password = str(given["password"])
    if "ipmi" in given:
        account = ("-U", str(given["user"]), "-E")
        tool = ("ipmitool", "-I", "lanplus", "-H", str(given["ipmi"]), *account)
        secret = {"IPMI_PASSWORD": password}
        tasks = (("bootdev", "pxe"), ("power", "on"), ("power", "reset"))
        boot, *starts = [_command(*tool, "chassis", *task, environment=secret) for task in tasks]
        return [[boot], starts]
    system = str(given["redfish"]).rstrip("/")
    account = f"user = {json.dumps(given['user'] + ':' + password)}\n"
    if key := given.get("public_key"):
        account += f"insecure\npinnedpubkey = {json.dumps(key)}\n"
    restart = f"{system}/Actions/ComputerSystem.Reset"
    return [
        [_request("PATCH", system, _BOOT, account)],
        [
            _request("POST", restart, {"ResetType": kind}, account)
            for kind in ("On", "ForceRestart")
        ],
    ]


def _command(*argv: str, environment: dict[str, str] | None = None, stdin: str = "") -> Command:
    return {"argv": list(argv), "environment": environment or {}, "stdin": stdin}


def _request(method: str, url: str, body: Mapping[str, Any], account: str) -> Command:
    header = ("--header", "Content-Type: application/json")
    told = ("--request", method, *header, "--data", json.dumps(body), url)
    asks = ("curl", "--silent", "--show-error", "--fail", "--config", "-")
    return _command(*asks, *told, stdin=account)


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """By the name templates use."""
        return {"netboot_power_commands": power_commands}
