"""A module for each study: its claims, its exhibits in the layout of the paper, its summary.

The report knows nothing else of a study. To add a module, make a folder next to this file with the
name of the study, whose `__init__.py` has a `StudyModule` named `STUDY`; lessons and published
numbers stand in the same folder. A study without a module is reported with its cells and statistics
alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules

from collect.replication.claims import Claim
from collect.replication.evidence import Measured, Published
from collect.replication.exhibits import Exhibit
from collect.run.cell import Level


@dataclass(frozen=True)
class StudyModule:
    """What a study adds to the report.

    `factors` are those that a run must have, `numbers` those of them whose levels are whole
    numbers. `exhibits` and `summary` take the published numbers and the measured run; a summary is
    a few sentences a student understands. `system` is the factor whose levels are the systems
    compared, `names` what the report calls them.
    """

    study: str
    factors: frozenset[str]
    published: Callable[[], Published]
    claims: Sequence[Claim]
    exhibits: Callable[[Published, Measured], Sequence[Exhibit]]
    summary: Callable[[Published, Measured], Sequence[str]]
    system: str
    names: Mapping[str, str] = field(default_factory=dict)
    numbers: frozenset[str] = frozenset()

    def fits(self, factors: Mapping[str, Sequence[Level]]) -> bool:
        """Tell whether a run with these levels of each factor can be compared with the paper.

        Systems and other texts that the paper does not have are left to the table of systems.
        """
        return self.factors == factors.keys() and all(
            not isinstance(level, (bool, str)) and level % 1 == 0
            for name in self.numbers
            for level in factors[name]
        )


def find(study: str) -> StudyModule | None:
    """Return the module of a study, None when it has none."""
    if not any(module.name == study for module in iter_modules(__path__)):
        return None
    # Only this one: some modules import libraries that take a second to load.
    module: StudyModule = import_module(f"{__name__}.{study}").STUDY
    return module
