"""Units that would work during a trial, and the time daemon where it was off."""

from functools import partial
from pathlib import Path
from typing import Any

from ansible.module_utils import host

from .steps import Back, Step, Steps, read_record, write_record

KIND = "units"
Found = dict[str, dict[str, bool]]
"""By the name of a unit, whether it was enabled and whether it was active."""


def steps(root: Path, params: dict[str, Any]) -> Steps:
    """Yield steps for units that may run again, and for those installed that would run."""
    for name in read_record(root).get(KIND, {}):
        if name not in params["units_off"]:
            yield Step(name, KIND, {}, partial(on_again, root, name))
    if not params["units_off"]:
        return
    for state in host.states(*params["units_off"]):
        is_enabled = state["UnitFileState"].startswith("enabled")
        is_active = state["ActiveState"] in ("active", "activating", "reloading")
        if state["LoadState"] == "loaded" and (is_enabled or is_active):
            name = state["Id"]
            found = {name: {"enabled": is_enabled, "active": is_active}}
            off = partial(host.run, "systemctl", "disable", "--now", "--quiet", name)
            yield Step(name, KIND, found, off)


def on_again(root: Path, name: str) -> None:
    """Restore a unit and remove it from the record, so that its owner may turn it off."""
    record = read_record(root)
    restore(root, {name: record[KIND].pop(name)})
    write_record(root, record)


def installed(found: Found) -> Found:
    """Return those of a record's units that nobody has removed since."""
    shown = host.states(*found) if found else ()
    loaded = {state["Id"] for state in shown if state["LoadState"] == "loaded"}
    return {name: was for name, was in found.items() if name in loaded}


def restore(_: Path, found: Found, *, on: bool = True) -> None:
    """Enable and start the units that were enabled and active; those removed since stay removed.

    With `on` false disable and stop those that were not.
    """
    enable, start = ("enable", "start") if on else ("disable", "stop")
    for name, was in installed(found).items():
        if was["enabled"] == on:
            host.run("systemctl", enable, "--quiet", name)
        if was["active"] == on:
            host.run("systemctl", start, name)


BACK: Back = {KIND: restore, "turned_on": partial(restore, on=False)}
