"""A run compared with its paper: claims judged, exhibits filled, a summary in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from collect.cells.analysis import Analysis
from collect.cells.plots import whole_plots
from collect.planning.interim import error_of
from collect.replication.claims import Claim, Judgement, Verdict, judge
from collect.replication.contrasts import systems_table
from collect.replication.evidence import Measured
from collect.replication.exhibits import Exhibit, Figure
from collect.replication.load import load_exhibits
from collect.replication.studies import StudyModule, find
from collect.stats.spending import ERROR


@dataclass(frozen=True)
class JudgedClaim:
    """A claim, judged on the paper's own numbers and on the run."""

    claim: Claim
    published: Judgement
    measured: Judgement

    @property
    def is_not_even_in_paper(self) -> bool:
        """Whether the published numbers contradict the sentence."""
        contradicted = {Verdict.FAILS, Verdict.DIRECTION_ONLY, Verdict.SIGN_OPEN}
        return self.published.verdict in contradicted


@dataclass(frozen=True)
class Replication:
    """The claims, exhibits and summary of a run; empty for a study without a module.

    Each is worked out when it is first asked for: comparing many pairs takes seconds.
    """

    measured: Measured
    module: StudyModule | None
    analysis: Analysis

    @cached_property
    def claims(self) -> Sequence[JudgedClaim]:
        """The claims of the paper, judged."""
        if not self.module:
            return ()
        published = self.module.published()
        return [
            JudgedClaim(claim, judge(claim, published), judge(claim, self.measured))
            for claim in self.module.claims
        ]

    @cached_property
    def exhibits(self) -> Sequence[Exhibit]:
        """Those of an open loop, then those of the paper in its order, and the systems in pairs."""
        of_load = load_exhibits(self.analysis, self.measured.error)
        if not self.module:
            return of_load
        return [
            *of_load,
            *self.module.exhibits(self.module.published(), self.measured),
            systems_table(self.measured, self.module.system, self.module.names),
        ]

    @cached_property
    def summary(self) -> Sequence[str]:
        """What came out, in sentences."""
        if not self.module:
            return ()
        return self.module.summary(self.module.published(), self.measured)

    @property
    def correction(self) -> str:
        """How interim analyses correct intervals and P-values; empty where there were none."""
        error, rule = self.measured.error, self.analysis.run.stop
        if error == ERROR or not self.exhibits or rule is None:
            return ""
        return (
            "Interim analyses could end this run early, so claims and exhibits are corrected "
            f"({rule.correction}). Intervals of trials and of ratios have a confidence level of "
            f"{100 * (1 - error):.4g} %. Each P-value of trials is multiplied by "
            f"{ERROR / error:.3g}. Over all analyses, intervals contain the true value in 95 % of "
            "runs, and verdicts err in at most 5 % of them. Percentiles of calls are not "
            "corrected, nor are tables that take calls as samples, as the papers do."
        )

    @property
    def figures(self) -> list[Figure]:
        """The exhibits that are charts."""
        return [e for e in self.exhibits if isinstance(e, Figure) and e.panels]


def replicate(analysis: Analysis) -> Replication:
    """Compare a run with its paper, if its study has a module that fits its factors and levels."""
    module = find(analysis.run.study)
    fits = module is not None and module.fits(analysis.run.factors)
    cells = {result.cell: result for result in analysis.cells}
    measured = Measured(cells, error_of(analysis.run), plots=whole_plots(analysis.run.plan))
    return Replication(measured, module if fits else None, analysis)
