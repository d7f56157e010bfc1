"""The rule by which a run stops early, and what its interim analyses decided."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from collect.counts import show_percent
from collect.errors import InputError, quoted
from collect.files import write_bytes
from collect.run.fields import Fields, is_number
from collect.strict_json import parse_json

LOOKS = "looks.json"
"""The decisions of a run, in its directory: one for each interim analysis that was due."""
_KEYS = {"half_width", "looks"}
EQUAL, OBRIEN_FLEMING = "equal", "obrien-fleming"
"""How the error of 5 % is spent: in plans of earlier versions, and in new ones."""
_WORDS = {
    EQUAL: "equal parts, as the run was planned",
    OBRIEN_FLEMING: "an error spending function of O'Brien and Fleming's shape",
}


@dataclass(frozen=True)
class StopRule:
    """Stop when every cell's interval is so narrow: its upper end at most `half_width` above.

    `looks` are the numbers of whole blocks after which there is an interim analysis, in rising
    order; the last one is the most blocks that the run has. `spending` is how the error is spent.
    """

    half_width: float
    looks: tuple[int, ...]
    spending: str = OBRIEN_FLEMING

    def __str__(self) -> str:
        """Return it as the report writes it."""
        looks = ", ".join(map(str, self.looks))
        return f"±{100 * self.half_width:g} % in every cell, analysed after {looks} blocks"

    @property
    def correction(self) -> str:
        """How the error is divided among the analyses, as the report writes it."""
        return _WORDS[self.spending]

    @property
    def most(self) -> int:
        """The most blocks that a run with this rule has."""
        return self.looks[-1]

    def show(self, width: float) -> str:
        """Return the half width of an interval, with the digits that tell if it is too wide."""
        return f"±{show_percent(width, 1, lambda share: share <= self.half_width)}"

    def record(self) -> dict[str, Any]:
        """Return it as in plan.jsonl; plans of earlier versions do not name the spending."""
        record = {"half_width": self.half_width, "looks": list(self.looks)}
        return record if self.spending == EQUAL else {**record, "spending": self.spending}

    @classmethod
    def parse_planned(cls, value: Any) -> Self:
        """Read what `record` gives; raises ValueError that says what is wrong."""
        spending = value.get("spending", EQUAL) if isinstance(value, dict) else EQUAL
        if spending not in (EQUAL, OBRIEN_FLEMING):
            raise ValueError(f"has the spending {quoted(spending)}, unknown to this version")
        if isinstance(value, dict):
            value = {name: one for name, one in value.items() if name != "spending"}
        return replace(cls.parse(value), spending=spending)

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Read a rule of a study file; raises ValueError that says what is wrong."""
        if not isinstance(value, dict) or set(value) != _KEYS:
            raise ValueError("needs half_width and looks")
        width, looks = value["half_width"], value["looks"]
        if not is_number(width) or not 0 < width < 1:
            raise ValueError("needs a half_width between 0 and 1, such as 0.05 for 5 %")
        if not isinstance(looks, list) or not looks or not all(type(n) is int for n in looks):
            raise ValueError("needs a list of whole numbers of blocks as looks")
        if looks[0] < 2 or any(before >= after for before, after in pairwise(looks)):
            raise ValueError("needs looks of 2 blocks or more, each above the one before it")
        return cls(float(width), tuple(looks))


@dataclass(frozen=True)
class Decision:
    """What was seen after so many `blocks`, and whether the run `stops` there.

    `widest` is the half width of the widest interval as a share of its mean, None where a cell
    that ran has no interval; `cell` has its levels as text.
    """

    blocks: int
    widest: float | None
    cell: str
    stops: bool


def read_decisions(directory: Path) -> list[Decision]:
    """Return the decisions of a run; raises InputError for a file that cannot be used."""
    path = directory / LOOKS
    try:
        record = Fields(parse_json(path.read_bytes()))
        return [
            Decision(
                one.required("blocks", int),
                one.number("widest"),
                one.text("cell") or "",
                one.all["stops"] is True,
            )
            for one in record.each("looks")
        ]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{path}: cannot be used ({error}); remove it, and the same sweep decides again"
        ) from error


def write_decisions(directory: Path, decisions: Sequence[Decision]) -> None:
    """Write the decisions, whole or not at all."""
    content = {"schema": 1, "looks": [asdict(decision) for decision in decisions]}
    write_bytes(directory / LOOKS, json.dumps(content, ensure_ascii=False).encode() + b"\n")
