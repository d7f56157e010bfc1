"""Budgets: how many times as long as in the first run each cell may take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from collect.errors import InputError
from collect.run.cell import Level, level_text
from collect.strict_yaml import parse_yaml

_RATIO = {"type": "number", "exclusiveMinimum": 0}
_LEVEL = {"type": ["integer", "number", "string", "boolean"]}
_SCHEMA = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": False,
    "properties": {
        "budget": _RATIO,
        "where": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["cells", "budget"],
                "additionalProperties": False,
                "properties": {
                    "budget": _RATIO,
                    "cells": {
                        "type": "object",
                        "minProperties": 1,
                        "additionalProperties": {
                            "anyOf": [_LEVEL, {"type": "array", "minItems": 1, "items": _LEVEL}]
                        },
                    },
                },
            },
        },
    },
}


@dataclass(frozen=True)
class Budget:
    """A ratio for every cell, None for no limit; the last entry of `where` that matches wins."""

    every: float | None = None
    where: Sequence[tuple[Mapping[str, Sequence[Level]], float]] = ()

    def of(self, factors: Mapping[str, Level]) -> float | None:
        """Return the budget of a cell; None when it has none."""
        chosen = self.every
        for cells, ratio in self.where:
            if all(factors[name] in levels for name, levels in cells.items()):
                chosen = ratio
        return chosen

    def check(self, factors: Mapping[str, Sequence[Level]]) -> None:
        """Raise InputError for an entry that matches no cell and so would never be checked."""
        for cells, _ in self.where:
            for name, levels in cells.items():
                if name not in factors:
                    raise InputError(
                        f"the budget names {name}, which is not a factor of these runs; "
                        f"use one of their factors: {', '.join(factors)}"
                    )
                unknown = [level for level in levels if level not in factors[name]]
                if unknown:
                    raise InputError(
                        f"the budget names the level {unknown[0]!r} of {name}, which is in no run; "
                        f"use one of its levels: {', '.join(map(level_text, factors[name]))}"
                    )


def read_budget(text: str) -> Budget:
    """Return the budget that a command line names: a ratio such as 1.10, or a YAML file.

    The file holds `budget: RATIO` for every cell, and `where:` as in study files, a list of
    `{cells: {FACTOR: LEVELS}, budget: RATIO}`. Raises InputError.
    """
    try:
        ratio = float(text)
    except ValueError:
        return _read_file(Path(text))
    if not (isfinite(ratio) and ratio > 0):
        raise InputError(f"the budget {text} is not a ratio; give a number above 0, such as 1.10")
    return Budget(ratio)


def _read_file(path: Path) -> Budget:
    try:
        content: Any = parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"the budget {path}: cannot be used ({reason}); give a ratio such as 1.10 or a YAML "
            "file with the key budget"
        ) from error
    fault = best_match(Draft202012Validator(_SCHEMA).iter_errors(content))
    if fault is not None:
        place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in fault.absolute_path)
        raise InputError(
            f"the budget {path}: {place.strip('.') or 'the file'}: {fault.message}; "
            "correct it (`collect compare --help` has an example)"
        )
    for ratio in (content.get("budget", 1), *(e["budget"] for e in content.get("where", []))):
        if not ratio < inf:  # which a schema cannot tell
            raise InputError(
                f"the budget {path}: holds {ratio}, which is not a ratio; give numbers such as 1.10"
            )
    where = [
        ({n: v if isinstance(v, list) else [v] for n, v in entry["cells"].items()}, entry["budget"])
        for entry in content.get("where", [])
    ]
    return Budget(content.get("budget"), where)
