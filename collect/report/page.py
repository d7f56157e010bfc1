"""Writes the page over analysed runs: computes and names what the templates show."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import get_args

from markupsafe import Markup

from collect.cells.analysis import Analysis
from collect.cells.cells import CellResult, write_cells
from collect.costs.wire import CellWire, wires_of
from collect.files import write_text
from collect.logs.cell_trial import CellTrial
from collect.planning.interim import corrected_interval
from collect.replication import charts
from collect.replication.lessons import Lesson, lessons_of
from collect.replication.replicate import Replication, replicate
from collect.replication.studies import find
from collect.report.bench import Bench, find_bench
from collect.report.deviations import Condition, conditions_of
from collect.report.drawings import claims as claims_drawing
from collect.report.drawings.busy import Timeline, timelines_of
from collect.report.drawings.distributions import Setting
from collect.report.drawings.distributions import settings_of as distributions_of
from collect.report.drawings.parts import Bars, bars_of
from collect.report.drawings.sequence import Sequenced
from collect.report.flames import Flames, flames_of
from collect.report.provenance import Fact, facts_of, nodes_of, settings_of
from collect.report.templates import page_templates
from collect.report.warmups import CellWarmup, SystemBeginning, beginnings_of, warmups_of
from collect.report.warnings import ReportWarning, find_warnings
from collect.run import starts
from collect.run.cell import Cell
from collect.run.directory import Run
from collect.stats.course import Steadiness
from collect.stats.estimates import Estimate

REPLICATION = Path(__file__).parents[2] / "docs/replication/README.md"
"""What came of whole runs, in words; no part of an installed package."""
TRIALS_IN_PAGE = 3000


@dataclass(frozen=True)
class Section:
    """One run in the report.

    `number` makes its anchors unique, `base` is the path from the page to the files of the run.
    It is None of a run whose files nobody will find, as they are in an archive. `has_charts` says
    whether the charts are files of their own there too. `is_lesson` adds to each exhibit what a
    student should find in it.
    """

    number: int
    analysis: Analysis
    replication: Replication
    base: str | None
    bench: Bench | None = None
    is_lesson: bool = False
    has_charts: bool = True

    @property
    def run(self) -> Run:
        """The run."""
        return self.analysis.run

    @property
    def anchor(self) -> str:
        """What the anchors of this section begin with."""
        return f"r{self.number}"

    @property
    def title(self) -> str:
        """The title of the study, or its name."""
        stated = self.run.stated
        return str(stated.content["title"]) if stated else self.run.study

    @property
    def steadiness(self) -> str:
        """How many cells were steady, drifting and undecided while measured; "" without a time."""
        found = Counter(cell.steadiness for cell in self.analysis.cells if cell.mean)
        return ", ".join(f"{found[name]} {name}" for name in get_args(Steadiness)) if found else ""

    @cached_property
    def warnings(self) -> list[ReportWarning]:
        """What went wrong."""
        return find_warnings(self.analysis)

    @property
    def claim_rows(self) -> Sequence[claims_drawing.Row]:
        """The claims as rows of a drawing."""
        return claims_drawing.rows_of(self.replication.claims)

    @cached_property
    def _systems(self) -> tuple[str | None, Mapping[str, str]]:
        module = find(self.run.study)
        return (module.system, module.names) if module else (None, {})

    @property
    def distributions(self) -> Sequence[Setting]:
        """The distributions of times, cells that differ in the system alone together."""
        return distributions_of(self.analysis.cells, *self._systems)

    @property
    def sequence(self) -> Sequenced:
        """The trials in the order in which they ran."""
        return Sequenced(self.analysis.cells, *self._systems)

    @cached_property
    def flames(self) -> Flames | None:
        """The profiles; None of a run without."""
        return flames_of(self.analysis, self._systems[0])

    @cached_property
    def warmups(self) -> Sequence[CellWarmup]:
        """What the JVMs of each cell did in warm-up and measured phase; nothing of old runs."""
        return warmups_of(self.analysis.cells)

    @cached_property
    def beginnings(self) -> Sequence[SystemBeginning]:
        """How the measured phases of each system begin."""
        return beginnings_of(self.analysis.cells, *self._systems)

    @property
    def has_resources(self) -> bool:
        """Whether a trial recorded the load."""
        return any(cell.has_resources for cell in self.analysis.cells)

    @cached_property
    def timelines(self) -> Sequence[Timeline]:
        """The load over the time of a trial of each cell."""
        return timelines_of(self.analysis.cells)

    @cached_property
    def parts(self) -> Sequence[Bars]:
        """The parts of a call of each cell whose client sets marks."""
        return bars_of(self.analysis.cells, *self._systems)

    @cached_property
    def wires(self) -> Sequence[CellWire]:
        """What a call of each cell sent over the wire; nothing of a run that kept no packets."""
        return wires_of(self.analysis.run, self.analysis.captured)

    def collecting(self, cell: CellResult, kind: str) -> float | None:
        """Return the largest share of the time that a JVM of a kind collected garbage.

        That of the client is what its trials recorded of the measured phase themselves.
        """
        if kind == "client":
            shares = [
                trial.gc_ms * 1e6 / trial.gc_over_ns
                for trial in (one.trial for one in cell.counted)
                if trial.gc_ms is not None and trial.gc_over_ns
            ]
            return fmean(shares) if shares else None
        services = cell.usage.services(kind).values()
        known = [b.collecting.value for b in services if b.collecting.value is not None]
        return max(known, default=None)

    @property
    def has_single_starts(self) -> bool:
        """Whether all trials met one start of each server."""
        plan = self.run.plan
        is_restarted = starts.is_restarted(plan) or starts.is_set_between(plan)
        return starts.serves(plan) and not is_restarted

    @property
    def facts(self) -> list[Fact]:
        """What was run, where and with what."""
        return facts_of(self.analysis)

    @property
    def nodes(self) -> tuple[list[str], list[list[str]]]:
        """The nodes as a table."""
        return nodes_of(self.run.provenance)

    def bench_share(self, cell: CellResult) -> float | None:
        """Return the share of the bench in a cell's mean; None when no run measured the bench."""
        return self.bench.share(cell, cell.threads) if self.bench else None

    def corrected_intervals(self, cell: CellResult) -> list[Estimate]:
        """Return a cell's mean at the last analysis, corrected for all; none before the first."""
        if self.run.stop is None or not self.run.decisions or cell.mean is None:
            return []
        found = corrected_interval(cell, self.run.stop, self.run.decisions[-1].blocks)
        return [found or Estimate(cell.mean.value)]

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """The constants and node settings by name."""
        return settings_of(self.analysis)

    @property
    def choices(self) -> Mapping[str, str]:
        """What the study chose where the paper states nothing, with the reasons."""
        stated = self.run.stated
        return stated.content.get("our_choice", {}) if stated else {}

    @cached_property
    def conditions(self) -> list[Condition]:
        """The conditions that the paper states, each with that of this run."""
        return conditions_of(self.analysis)

    @property
    def deviations(self) -> Sequence[str]:
        """What else the run recorded as different from the paper's conditions."""
        return self.run.provenance.deviations

    @property
    def lessons(self) -> Mapping[str, Lesson]:
        """The lessons by the id of the exhibit; none for a researcher."""
        return lessons_of(self.run.study) if self.is_lesson else {}

    @property
    def lists_trials(self) -> bool:
        """Whether the trials are few enough to be listed in the page."""
        return self.analysis.sealed <= TRIALS_IN_PAGE

    @cached_property
    def _anchors(self) -> Mapping[Cell, str]:
        cells = enumerate(self.run.cells, start=1)
        return {cell: f"{self.anchor}-c{place}" for place, cell in cells}

    def cell_anchor(self, cell: CellResult) -> str:
        """Return the anchor of a cell."""
        return self._anchors[cell.cell]

    def anchor_of(self, cell: Cell | None) -> str | None:
        """Return the anchor of a cell of an exhibit; None when the run has no such cell."""
        return self._anchors.get(cell) if cell else None

    def file(self, trial: CellTrial, name: str) -> str:
        """Return the path from the page to a file of a trial."""
        return f"{self.base}trials/{trial.trial.id}/{name}"

    def calls_file(self, trial: CellTrial) -> str:
        """Return the path from the page to the raw log of a trial."""
        return self.file(trial, trial.trial.log.name)


def write_report(
    analyses: Sequence[Analysis],
    output: Path,
    *,
    is_lesson: bool = False,
    with_charts: bool = True,
) -> Path | None:
    """Write cells.csv and the charts of each run, then the page over all of them.

    A lesson has questions in the page; the answers are in a file next to it; returns its path.
    The page has no links to the files of a run in an archive, which gets no charts either.
    """
    sections, bench = [], find_bench(analyses)
    for number, analysis in enumerate(analyses, start=1):
        run = analysis.run
        write_cells(run.directory / "cells.csv", run, analysis.cells)
        base = os.path.relpath(run.directory, output.absolute().parent)
        replication = replicate(analysis)
        way = None if run.archived else "" if base == "." else f"{base}/"
        has_charts = with_charts and way is not None
        sections.append(Section(number, analysis, replication, way, bench, is_lesson, has_charts))
        for figure in replication.figures if has_charts else ():
            titled = [(panel.title, panel.chart) for panel in figure.panels]
            charts.save(titled, run.directory / "charts" / figure.id)
    write_text(output, _render(sections, _whole_replication(output)))
    if not is_lesson:
        return None
    answers = output.with_name(f"{output.stem}-answers.md")
    write_text(answers, _render_answers(sections, output.name))
    return answers


def _whole_replication(output: Path) -> str:
    """Return the way from a page in the repository to that on whole runs of the papers' grids.

    Elsewhere, as in an archive, there is none: "".
    """
    repository, directory = REPLICATION.parents[2], output.absolute().parent
    if not REPLICATION.is_file() or not directory.is_relative_to(repository):
        return ""
    return os.path.relpath(REPLICATION, directory)


def _render(sections: Sequence[Section], whole_replication: str) -> str:
    environment = page_templates(is_markup=True)
    has_charts = any(section.replication.figures for section in sections)
    return environment.get_template("page.html.j2").render(
        sections=sections,
        whole_replication=whole_replication,
        palettes={"light": charts.LIGHT, "dark": charts.DARK},
        vega=_inline_script(charts.script()) if has_charts else "",
    )


def _render_answers(sections: Sequence[Section], page: str) -> str:
    # Markdown for a teacher to read or print, not markup for a browser.
    template = page_templates(is_markup=False).get_template("answers.md.j2")
    return template.render(sections=sections, page=page)


def _inline_script(text: str) -> Markup:
    # Only what would end the element: any other change could break a regular expression.
    return Markup(text.replace("</script", "<\\/script"))  # noqa: S704
