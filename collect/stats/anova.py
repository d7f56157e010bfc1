"""Analysis of variance of any tidy CSV: one or two factors and their interaction, and blocks."""

import csv
import math
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table
from rich.text import Text
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from collect.csv_fields import long_fields
from collect.errors import InputError
from collect.printable import as_printed
from collect.stats.estimates import Moments
from collect.stats.spending import ERROR, corrected

ROUNDING = 1e-24
"""A residual below this share of the squares is that of rounding."""
_BLANKS_AFTER_QUOTES = re.compile(r'(?<!")"[ \t]+(?=,|\r?\n?$)')
BLOCK = "Block"
COLUMNS = ("Source", "SS", "df", "MS", "F", "P-value", "F crit (95 %)", "Share of variation")


class Kind(Enum):
    """What a row of the table is, whatever its name."""

    FACTOR = "factor"
    INTERACTION = "Interaction"
    BLOCK = "block"
    WHOLE_PLOT_ERROR = "Whole-plot error"
    OTHER_PLOTS = "Other whole plots"
    WITHIN = "Within"
    TOTAL = "Total"


@dataclass(frozen=True)
class Source:
    """A row of the table; `share` is the part of the total sum of squares it explains.

    `kind` tells rows apart: `source` is for people, and may be the name of a column of theirs.
    """

    source: str
    ss: float
    df: int
    ms: float | None
    f: float | None
    p_value: float | None
    f_crit: float | None
    share: float | None
    kind: Kind = Kind.FACTOR


@dataclass(frozen=True)
class Observations:
    """A response and the levels of one or two factors, a row each.

    `blocks` holds the block of each observation, or nothing when there are none; `block` is the
    name of its row in the table. `plots` holds the setting of each one's whole plot in its block,
    or nothing where it is not known.
    """

    response: np.ndarray[tuple[int], np.dtype[np.float64]]
    levels: tuple[tuple[str, ...], ...]
    factors: tuple[str, ...]
    blocks: tuple[str, ...] = ()
    block: str = BLOCK
    plots: tuple[str, ...] = ()

    def row_name(self, kind: Kind) -> str:
        """Return the name of a row of ours, which is never that of a factor or of the block."""
        name = kind.value
        while name in {*self.factors, *([self.block] if self.blocks else [])}:
            name += " (no column)"
        return name


def read_observations(
    path: Path,
    response: str,
    factors: Sequence[str],
    block: str | None = None,
    plots: str | None = None,
) -> Observations:
    """Read the columns of a CSV with a header; raises InputError that names the line and column.

    Blanks around names and levels are ignored. Only the column `plots` may be missing. The file is
    read once, since it may be a pipe.
    """
    named = [*factors, *([] if block is None else [block])]
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream, long_fields():
            lines = (_BLANKS_AFTER_QUOTES.sub('"', line) for line in stream)
            reader = csv.DictReader(lines, skipinitialspace=True, strict=True)
            line = 1  # where the row begins, since an open quotation mark takes in further lines
            reader.fieldnames = [name.strip() for name in reader.fieldnames or []]
            if plots in reader.fieldnames:
                named.append(plots)
            _check_header(path, reader.fieldnames, (response, *named))
            values, levels = [], []
            line = reader.line_num + 1
            for row in reader:
                line = reader.line_num + 1
                where = f"{path}: line {reader.line_num}"
                if None in row:
                    raise InputError(
                        f"{where}: has more columns than the header; write decimals with a point, "
                        "and texts that hold a comma in quotes"
                    )
                values.append(_number(row[response], where, response))
                levels.append([_level(row[f], where, f) for f in named])
    except csv.Error as error:
        raise InputError(
            f"{path}: line {line} cannot be read ({error}); close the quotation mark, or write it "
            "twice"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); give a CSV file in UTF-8") from error
    if not values:
        raise InputError(f"{path}: holds no row; give at least two observations a cell")
    columns = list(zip(*levels, strict=True))
    read, more = tuple(columns[: len(factors)]), columns[len(factors) :]
    observed = Observations(np.array(values), read, tuple(factors))
    if block is not None:
        observed = replace(observed, blocks=more.pop(0), block=block)
    return replace(observed, plots=more[0]) if more else observed


def with_moments(groups: Mapping[tuple[str, ...], Moments], factors: Sequence[str]) -> Observations:
    """Return observations that have the moments of each group, and therefore the same table.

    Sums of squares depend on count, mean and variance alone, so a table can be computed from a
    printed summary, or from millions of calls.
    """
    response, levels = [], []
    for group, sample in groups.items():
        response.append(standing_for(sample))
        levels += [group] * sample.count
    return Observations(np.concatenate(response), tuple(zip(*levels, strict=True)), tuple(factors))


def standing_for(sample: Moments) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return values with the count, mean and variance of a sample, evenly spaced."""
    spread = np.linspace(-1, 1, sample.count)
    deviation = float(np.std(spread, ddof=1)) if sample.count > 1 else 1.0
    return np.asarray(sample.mean + spread / deviation * (sample.variance or 0) ** 0.5)


def anova(observations: Observations, error: float = ERROR) -> list[Source]:
    """Return the table: each factor, the interaction of two, the blocks, Within and Total.

    Blocks add to the model and do not interact: what all observations of a block have in common
    is no part of Within, against which the factors are tested. P-values and critical values are
    those of an analysis that may err as often as `error`.

    Sums of squares are of type II, the same as any other type where every cell has as many
    observations; shares then add up to 1. Raises InputError when a factor has one level, a cell
    has no replicate, or nothing varies.
    """
    _check(observations)
    names = [f"f{number}" for number in range(len(observations.factors))]
    frame = pd.DataFrame(dict(zip(names, observations.levels, strict=True)))
    terms = {
        f"C({n})": (factor, Kind.FACTOR)
        for n, factor in zip(names, observations.factors, strict=True)
    }
    if len(names) > 1:
        terms[":".join(terms)] = (observations.row_name(Kind.INTERACTION), Kind.INTERACTION)
    if observations.blocks:
        frame["block"] = observations.blocks
        terms["C(block)"] = (observations.block, Kind.BLOCK)
    # Sums of squares are those about the mean; digits that all values share would cost precision.
    frame["y"] = observations.response - observations.response.mean()
    unfitted = ols(f"y ~ {' + '.join(terms)}", frame)
    _check_design(observations, unfitted.exog)
    model = unfitted.fit()
    if model.ssr <= ROUNDING * float((unfitted.endog**2).sum()):
        raise InputError("only the blocks vary; F needs variance within cells")
    table = anova_lm(model, typ=2)
    total = float(((frame["y"] - frame["y"].mean()) ** 2).sum())
    within = int(table["df"].iloc[-1])
    rows = []
    terms["Residual"] = (observations.row_name(Kind.WITHIN), Kind.WITHIN)
    for term, (label, kind) in terms.items():
        row = table.loc[term]
        ss, df = float(row["sum_sq"]), int(row["df"])
        is_effect = kind is not Kind.WITHIN
        rows.append(
            Source(
                source=label,
                ss=ss,
                df=df,
                ms=ss / df,
                f=float(row["F"]) if is_effect else None,
                p_value=corrected(float(row["PR(>F)"]), error) if is_effect else None,
                f_crit=float(stats.f.ppf(1 - error, df, within)) if is_effect else None,
                share=ss / total,
                kind=kind,
            )
        )
    name = observations.row_name(Kind.TOTAL)
    end = Source(name, total, len(frame) - 1, None, None, None, None, None, Kind.TOTAL)
    return [*rows, end]


def as_rows(table: Sequence[Source]) -> list[dict[str, Any]]:
    """Return the table as objects by column for JSON, None where a column does not apply."""
    return [dict(zip(COLUMNS, astuple(row)[: len(COLUMNS)], strict=True)) for row in table]


def as_table(table: Sequence[Source]) -> Table:
    """Return the table for a terminal."""
    shown = Table(box=None, pad_edge=False, header_style="")
    for name in COLUMNS:
        shown.add_column(name, justify="left" if name == COLUMNS[0] else "right", no_wrap=True)
    for row in table:
        shown.add_row(*map(Text, _texts(row)))
    return shown


def _texts(row: Source) -> tuple[str, ...]:
    def show(value: float | None, form: str) -> str:
        return "" if value is None else format(value, form)

    return (
        row.source,
        show(row.ss, ".6g"),
        str(row.df),
        show(row.ms, ".6g"),
        show(row.f, ".6g"),
        f"< {sys.float_info.min:.0e}" if row.p_value == 0 else show(row.p_value, ".3g"),
        show(row.f_crit, ".4g"),
        show(row.share, ".1%"),
    )


def _check(observations: Observations) -> None:
    for factor, levels in zip(observations.factors, observations.levels, strict=True):
        if len(set(levels)) < 2:
            raise InputError(
                f"factor {factor!r} has one level, {levels[0]!r}; give data with at least two"
            )
        _check_spelling(f"factor {factor!r}", levels)
    if observations.blocks:
        _check_spelling(f"block {observations.block!r}", observations.blocks)
    cells_of = list(zip(*observations.levels, strict=True))
    counts = Counter(cells_of)
    wanted = 1
    for levels in observations.levels:
        wanted *= len(set(levels))
    if len(counts) < wanted:
        raise InputError(
            f"{wanted - len(counts)} of {wanted} combinations of levels have no observation; "
            "complete the data, or remove those levels"
        )
    if len(observations.blocks) and len(set(observations.blocks)) < 2:
        raise InputError(
            f"block {observations.block!r} has one level, {observations.blocks[0]!r}; "
            "give data with at least two blocks, or omit --block"
        )
    if len(observations.factors) == 2 and min(counts.values()) < 2:
        cell = min(counts, key=lambda levels: counts[levels])
        raise InputError(
            f"{', '.join(cell)} has one observation; two factors need replicates in every cell"
        )
    if len(observations.response) <= len(counts):
        raise InputError("every level has one observation; add replicates")
    if np.ptp(observations.response) == 0:
        raise InputError("all observations are equal; there is no variance to analyse")
    with np.errstate(over="ignore", invalid="ignore"):
        squares = float(np.square(observations.response - observations.response.mean()).sum())
    if not sys.float_info.min / ROUNDING < squares < math.inf:
        raise InputError(
            "the squares of these numbers are too large or too small for a computer; multiply "
            "the numbers by a constant"
        )
    cells: dict[tuple[str, ...], set[float]] = {}
    for levels, value in zip(cells_of, observations.response.tolist(), strict=True):
        cells.setdefault(levels, set()).add(value)
    if all(len(values) == 1 for values in cells.values()):
        raise InputError(
            "all observations of a cell are equal, in every cell; F needs variance within cells"
        )


def _check_design(observations: Observations, design: np.ndarray[Any, Any]) -> None:
    rows, columns = design.shape
    if np.linalg.matrix_rank(design) < columns:
        raise InputError(
            f"the factors and {observations.block!r} are confounded, since some levels have "
            "blocks of their own; run every level in each block"
        )
    if rows <= columns:
        raise InputError("the error has no degrees of freedom; give more observations")


def _check_header(path: Path, header: Sequence[str], wanted: Sequence[str]) -> None:
    for column in wanted:
        if column not in header:
            raise InputError(
                f"{path}: has no column {column!r}; its columns, between commas, are "
                f"{', '.join(header) or '(none)'}"
            )
        if header.count(column) > 1:
            raise InputError(f"{path}: has the column {column!r} twice; name each column once")


def _check_spelling(what: str, levels: Sequence[str]) -> None:
    """Refuse two levels that are one number, or that look like one text."""
    numbers: dict[float, str] = {}
    texts: dict[str, str] = {}
    for level in dict.fromkeys(levels):
        first, why = texts.setdefault(as_printed(level), level), "look like one"
        if first == level:
            try:
                first, why = numbers.setdefault(_parsed(level), level), "are one number"
            except ValueError:
                continue
        if first != level:
            raise InputError(
                f"{what} has the levels {first!r} and {level!r}, which {why}; spell it one way"
            )


def _number(text: str | None, where: str, column: str) -> float:
    try:
        value = _parsed(text or "")
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise InputError(f"{where}: {column} is {text!r}, not a number; correct or remove the line")
    return value


def _parsed(text: str) -> float:
    """Return the number that a text is; raises ValueError. To Python, 1_1 is one, too."""
    if "_" in text:
        raise ValueError
    return float(text)


def _level(text: str | None, where: str, column: str) -> str:
    level = (text or "").strip()
    if not level:
        raise InputError(f"{where}: {column} is empty; correct or remove the line")
    return level
