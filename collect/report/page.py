"""From analysed runs to the page: what the template needs, computed and named."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from collect import charts
from collect.analysis import Analysis
from collect.cells import Cell, CellTrial, write_cells
from collect.claims import Claim, Judgement, contradicts, judge
from collect.evidence import Measured, Published, name_of, show_level
from collect.exhibits import Exhibit, Figure
from collect.numbers import show, show_estimate
from collect.report.provenance import Fact, facts_of, nodes_of
from collect.statistics import Estimate
from collect.studies import StudyModule
from collect.trials import calls_path
from collect.troubles import Trouble, find_troubles
from collect.writing import write_text

_TRIALS_IN_PAGE = 3000


@dataclass(frozen=True)
class Reported:
    """Where a report and its files went."""

    page: Path
    files: tuple[Path, ...]


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with what the paper's own numbers and the run say."""

    claim: Claim
    published: Judgement
    measured: Judgement

    @property
    def is_not_even_in_paper(self) -> bool:
        """Whether the published numbers contradict the sentence."""
        return contradicts(self.published)


@dataclass(frozen=True)
class Section:
    """One run in the report; `number` makes its anchors unique, `base` is the way to its files."""

    number: int
    analysis: Analysis
    base: str

    @property
    def title(self) -> str:
        """The title of the study, or its name."""
        return str(self.analysis.run.study_content.get("title", self.analysis.run.study))

    @cached_property
    def troubles(self) -> list[Trouble]:
        """What went wrong."""
        return find_troubles(self.analysis)

    @property
    def facts(self) -> list[Fact]:
        """What was run, where and with what."""
        return facts_of(self.analysis)

    @property
    def nodes(self) -> tuple[list[str], list[list[str]]]:
        """The nodes as a table."""
        return nodes_of(self.analysis.run.provenance)

    @property
    def choices(self) -> Mapping[str, str]:
        """The conditions nobody stated."""
        choices: Mapping[str, str] = self.analysis.run.study_content.get("our_choice", {})
        return choices

    @property
    def deviations(self) -> list[str]:
        """How the conditions differ from those of the document, as the run recorded them."""
        stated = self.analysis.run.provenance.get("deviations", [])
        return [d if isinstance(d, str) else json.dumps(d, ensure_ascii=False) for d in stated]

    @cached_property
    def _evidence(self) -> tuple[StudyModule, Published, Measured] | None:
        module = self.analysis.module
        if module is None:
            return None
        return module, module.published(), self.analysis.measured(module.factors)

    @cached_property
    def claims(self) -> list[JudgedClaim]:
        """The claims of the document, judged on its own numbers first."""
        if self._evidence is None:
            return []
        module, published, measured = self._evidence
        return [JudgedClaim(c, judge(c, published), judge(c, measured)) for c in module.claims]

    @cached_property
    def exhibits(self) -> Sequence[Exhibit]:
        """The tables and figures of the document."""
        if self._evidence is None:
            return []
        module, published, measured = self._evidence
        return module.exhibits(published, measured)

    @property
    def summary(self) -> Sequence[str]:
        """A few sentences for a first reading."""
        if self._evidence is None:
            return []
        module, published, measured = self._evidence
        return module.summary(published, measured)

    @property
    def lists_trials(self) -> bool:
        """Whether the trials are few enough to stand in the page."""
        return self.analysis.sealed <= _TRIALS_IN_PAGE

    def cell_anchor(self, cell: Cell) -> str:
        """Give the anchor of a cell."""
        return f"r{self.number}-c{self.analysis.cells.index(cell) + 1}"

    def key_anchor(self, key: tuple[Any, ...] | None) -> str | None:
        """Give the anchor of a cell by its key in an exhibit; None when the run has none."""
        cell = self._evidence[2].cells.get(key) if self._evidence and key else None
        return None if cell is None else self.cell_anchor(cell)

    def file(self, trial: CellTrial, name: str) -> str:
        """Give the way from the page to a file of a trial."""
        return f"{self.base}trials/{trial.trial.id}/{name}"

    def calls_file(self, trial: CellTrial) -> str:
        """Give the way from the page to the raw log of a trial."""
        return self.file(trial, calls_path(trial.trial.directory).name)


def write_report(analyses: Sequence[Analysis], output: Path) -> Reported:
    """Write cells.csv and charts of each run, then the page over all of them."""
    files: list[Path] = []
    sections = []
    for number, analysis in enumerate(analyses, start=1):
        run = analysis.run
        write_cells(run.directory / "cells.csv", run, analysis.cells)
        files.append(run.directory / "cells.csv")
        base = os.path.relpath(run.directory, output.absolute().parent)
        section = Section(number, analysis, "" if base == "." else f"{base}/")
        for exhibit in section.exhibits:
            if isinstance(exhibit, Figure) and exhibit.panels:
                titled = [(panel.title, panel.chart) for panel in exhibit.panels]
                files += charts.save(titled, run.directory / "charts" / exhibit.name)
        sections.append(section)
    write_text(output, _render(sections))
    return Reported(output, tuple(files))


def _render(sections: Sequence[Section]) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("collect", "report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(show=show, estimate=show_estimate, level=show_level, key=name_of)
    environment.tests.update(
        figure=lambda exhibit: isinstance(exhibit, Figure),
        estimate=lambda value: isinstance(value, Estimate),
    )
    has_charts = any(isinstance(e, Figure) for section in sections for e in section.exhibits)
    template = environment.get_template("page.html.j2")
    return template.render(
        sections=sections,
        palettes={"light": charts.LIGHT, "dark": charts.DARK},
        svg=lambda chart: Markup(charts.page_svg(chart)),  # noqa: S704 - drawn by ourselves
        spec=lambda chart: _inline(json.dumps(charts.page_spec(chart))),
        vega=_inline(charts.script()) if has_charts else "",
        slug=lambda text: re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-"),
    )


def _inline(text: str) -> Markup:
    """Make JavaScript or JSON safe inside a script element."""
    return Markup(text.replace("</", "<\\/").replace("<!--", "<\\!--"))  # noqa: S704
