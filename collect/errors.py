"""Errors that stop a command: bad usage or input, reported in one message."""

import json
from typing import Any


class InputError(Exception):
    """Bad usage or input; the command prints the message and ends with exit code 2.

    The message names the thing, the reason and the next step.
    """


def quoted(value: Any) -> str:
    """Return a value from a JSON file as messages show it."""
    return json.dumps(value, ensure_ascii=False)
