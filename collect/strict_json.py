"""JSON as this package reads it: strict where Python's reader lets things pass."""

import json
import math
from typing import Any, NoReturn


def parse_json(content: bytes) -> Any:
    """Parse one JSON text; raises ValueError that says what is wrong.

    Refuses what would break or mislead later: NaN, numbers that are infinite, texts that
    cannot be written again as UTF-8, and nesting that exhausts the stack.
    """
    try:
        value = _DECODER.decode(content.decode())
        if b"\\u" in content:
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    except UnicodeEncodeError as error:
        raise ValueError("holds half a character (a lone surrogate)") from error
    return value


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"holds {text}, which is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"holds {text}, which is too large for a number")
    return number


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
