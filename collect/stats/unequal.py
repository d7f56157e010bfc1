"""How far unequal variances move the 5 % point of F tests inside blocks, by simulation."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from collect.stats.components import centred
from collect.stats.spending import ERROR

_DRAWS = 4999
_Matrix = NDArray[np.float64]


def inflation(
    values: _Matrix, levels: Sequence[tuple[str, ...]]
) -> Mapping[tuple[int, ...], float]:
    """Return of each source of variation by how much its 5 % point is beyond that of F.

    `values` has a row a block and a column a cell, `levels` those of one or two factors of each
    cell, which are fully crossed. A source is given by the places of its factors. Runs are drawn in
    which nothing differs and each cell has the variance of its own that was seen; a ratio below 1
    counts as 1. F of two cells is exact, as it is that of their difference in each block.
    """
    blocks, cells = values.shape
    sources = _projections(levels)
    if cells == 2:
        return dict.fromkeys(sources, 1.0)
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(_DRAWS, blocks, cells)) * _deviations(values)
    means = drawn.mean(axis=1)
    freedom = (blocks - 1) * (cells - 1)
    within = (centred(drawn) ** 2).sum(axis=(1, 2)) / freedom
    found = {}
    for source, projection in sources.items():
        between = round(float(np.trace(projection)))
        squares = blocks * np.einsum("di,ij,dj->d", means, projection, means) / between
        point = float(np.quantile(squares / within, 1 - ERROR))
        found[source] = max(1.0, point / float(stats.f.ppf(1 - ERROR, between, freedom)))
    return found


def _deviations(values: _Matrix) -> _Matrix:
    """Return the standard deviation of each cell without its mean and that of its block.

    Of the residuals' sums of squares, which each hold a part of the others' variance, the unbiased
    estimates; none is below 0.
    """
    blocks, cells = values.shape
    squares = (centred(values) ** 2).sum(axis=0) / (blocks - 1)
    own = cells / (cells - 2) * (squares - squares.sum() / (cells * (cells - 1)))
    return np.asarray(np.sqrt(np.maximum(own, 0.0)))


def _projections(levels: Sequence[tuple[str, ...]]) -> Mapping[tuple[int, ...], _Matrix]:
    """Return the projection of cell means on each main effect, and on the interaction of two."""
    overall = np.full((len(levels), len(levels)), 1 / len(levels))
    mains: dict[tuple[int, ...], _Matrix] = {}
    for place in range(len(levels[0])):
        own = [level[place] for level in levels]
        same = np.array([[float(a == b) for b in own] for a in own])
        mains[place,] = same / same.sum(axis=1, keepdims=True) - overall
    if len(mains) < 2:
        return mains
    rest = np.eye(len(levels)) - overall - mains[0,] - mains[1,]
    return {**mains, (0, 1): rest}
