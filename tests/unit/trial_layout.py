"""The layout of trial.json, which the tests of the runner check by the same file."""

import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator


@cache
def validator() -> Draft202012Validator:
    """Return what checks a record by collect/run/trial.schema.json."""
    schema = json.loads(resources.files("collect.run").joinpath("trial.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def faults(record: Any) -> list[str]:
    """Return in what a record is not of the layout."""
    return [f"{error.json_path}: {error.message}" for error in validator().iter_errors(record)]


def in_layout(record: Any) -> Any:
    """Return a record that is of the layout; raises AssertionError that says why one is not."""
    if found := faults(record):
        raise AssertionError("; ".join(found))
    return record


def faults_below(directory: Path) -> list[str]:
    """Return the faults of every trial.json in this directory and below it."""
    paths = sorted(directory.rglob("trial.json"))
    return [f"{path}: {fault}" for path in paths for fault in faults(json.loads(path.read_text()))]
