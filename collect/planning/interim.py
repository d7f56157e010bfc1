"""Interim analyses of a run that may stop early: how wide its intervals are, and what follows."""

import math
from collections.abc import Sequence
from pathlib import Path

from collect.cells.analysis import analyse
from collect.cells.cells import CellResult
from collect.cells.notation import name_of
from collect.errors import InputError
from collect.run.directory import Run, open_run
from collect.run.stop import EQUAL, Decision, StopRule, write_decisions
from collect.stats.estimates import Estimate, geometric_t
from collect.stats.spending import ERROR, equal_errors, errors_of


def error_at(rule: StopRule, blocks: int) -> float:
    """Return how often an interval after so many blocks may miss.

    Between two analyses that of the earlier one, before the first that of the first.
    """
    errors = equal_errors(rule.looks) if rule.spending == EQUAL else errors_of(rule.looks)
    passed = sum(look <= blocks for look in rule.looks)
    return errors[max(passed, 1) - 1]


def error_of(run: Run) -> float:
    """Return how often the intervals of a run may miss; 5 % where it was to run to its end."""
    if run.stop is None:
        return ERROR
    taken = run.decisions[-1].blocks if run.decisions else 0
    return error_at(run.stop, taken)


def corrected_interval(cell: CellResult, rule: StopRule, blocks: int) -> Estimate | None:
    """Return the mean over the first blocks, its interval corrected for the interim analyses.

    That of response times in an open loop. None when no trial counts.
    """
    samples = (cell.response or cell).samples
    sample = [mean for block, mean in samples.items() if block <= blocks]
    return geometric_t(sample, error_at(rule, blocks)) if sample else None


def decide(cells: Sequence[CellResult], rule: StopRule, blocks: int) -> Decision:
    """Return what the rule says after so many blocks, from the trials of these blocks alone.

    A cell none of whose trials counts has no interval to wait for; its outcome is its result.
    """
    widest, where = 0.0, ""
    for cell in cells:
        interval = corrected_interval(cell, rule, blocks)
        if interval is None:
            continue
        width = math.inf
        if interval.high is not None and interval.value > 0:
            width = interval.high / interval.value - 1
        if width >= widest:
            widest, where = width, name_of(cell.cell)
    shown = widest if where and math.isfinite(widest) else None
    return Decision(blocks, shown, where, bool(where) and widest <= rule.half_width)


def due_analyses(directory: Path) -> list[Decision]:
    """Take each decision that is due and record it; return all decisions of the run.

    An interim analysis is due when every trial up to it is sealed here. The same trials always give
    the same decision, so that nothing is lost when this is killed before the record is on disk.
    Raises InputError when a sealed trial is refused: what it says is not known.
    """
    run = open_run(str(directory))
    decisions = list(run.decisions)
    due = run.analyses_due()
    if run.stop is None or not due:
        return decisions
    analysis = analyse(run)
    refused = [finding for finding in analysis.findings if finding.kind == "refused"]
    if refused:
        raise InputError(
            f"{run.name}: its interim analysis cannot be made: {refused[0].text}; set it aside "
            f"with collect check {run.typed} --set-aside, then run the same sweep command again"
        )
    for blocks in due:
        decisions.append(decide(analysis.cells, run.stop, blocks))
        write_decisions(directory, decisions)
        if decisions[-1].stops:
            break
    return decisions
