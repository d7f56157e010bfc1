"""The node setting that a trial asks for; in a block, trials of one setting are a whole plot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Protocol

from collect.run.study import Setting

_HEAP = "_heap_mb"
_OF_KINDS = ("tomcat_heap_mb", "broker_heap_mb", "worker_heap_mb")


class Asking(Protocol):
    """A planned trial, or the settings of a cell."""

    @property
    def node(self) -> Mapping[str, Setting]:
        """What its nodes are set to."""

    @property
    def constants(self) -> Mapping[str, Setting]:
        """What it is told in addition to its levels."""


def setting_of(trial: Asking) -> dict[str, Setting]:
    """Return the node settings of a trial, and what its constants ask of the services."""
    asked = dict(trial.node)
    for program, heap in worker_heaps(asked).items():
        if heap == asked.get("worker_heap_mb"):  # said twice; another study may say it once
            del asked[program.replace("-", "_") + _HEAP]
    if collector := trial.constants.get("collector"):
        asked["collector"] = collector
    if trial.constants.get("persistence") == "synced":
        asked["synced"] = True  # what is only written needs nothing of the broker
    return asked


def setting_key(setting: Mapping[str, Setting]) -> str:
    """Return one text for equal settings, in canonical JSON."""
    return json.dumps(dict(setting), sort_keys=True, separators=(",", ":"))


def worker_heaps(node: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return the heaps in MiB of single worker programs, by program, of some node settings."""
    return {
        name.removesuffix(_HEAP).replace("_", "-"): value
        for name, value in node.items()
        if name.endswith(_HEAP) and name not in _OF_KINDS
    }
