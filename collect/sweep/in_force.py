"""What nodes were read to have of a setting, for the record of each trial."""

from collections.abc import Mapping
from typing import Any

from collect.run.setting import GOVERNOR, NETEM, SYSCTL


def in_force(taken: Mapping[str, Any], node: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what each node was read to have of a setting that is no service's, for trial.json.

    `taken` are the answers of the module `fingerprint` by node name, `node` is the setting.
    """
    found = {}
    for name, answer in taken.items():
        read = answer["fingerprint"]
        known = {f"{SYSCTL}{key}": value for key, value in read.get("sysctls", {}).items()}
        known[GOVERNOR] = read.get(GOVERNOR)
        rate = read.get("link_shaped_mbit")
        if rate is not None:
            known["link_mbit"] = _number(rate)
        if "link_device" in read or rate is not None:
            known |= {name: _number(read.get(name) or 0) for name in NETEM}
        told = {key: known.get(key) for key in sorted(node)}
        found[f"node on {name}"] = {key: held for key, held in told.items() if held is not None}
    return {name: held for name, held in found.items() if held}


def _number(value: float) -> float:
    return int(value) if value == int(value) else value
