"""One module a study: its claims, its exhibits in the layout of the document, its summary.

A module is all the report knows of a study. To add one, write a module with a `StudyModule` named
`STUDY` beside this file and put it into the list in `find`. A study without a module is
reported too, with its cells and statistics alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from collect.claims import Claim
from collect.evidence import Evidence, Published
from collect.exhibits import Exhibit


@dataclass(frozen=True)
class StudyModule:
    """What a study adds to the report.

    `factors` gives the order of levels in a key. `exhibits` and `summary` take the published
    numbers and the measured run; a summary is a few sentences a student understands.
    """

    study: str
    factors: tuple[str, ...]
    published: Callable[[], Published]
    claims: Sequence[Claim]
    exhibits: Callable[[Published, Evidence], Sequence[Exhibit]]
    summary: Callable[[Published, Evidence], Sequence[str]]


def find(study: str) -> StudyModule | None:
    """Give the module of a study, None when it has none."""
    from collect.studies import sort  # noqa: PLC0415 - the modules import this one

    modules: Mapping[str, StudyModule] = {module.study: module for module in (sort.STUDY,)}
    return modules.get(study)
