"""What whole plots that vary do to intervals, tests, claims and comparisons, by simulation."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from synthetic import of_means

from collect.cells.plots import WholePlots
from collect.replication.claims import Bound, Claim, Verdict, judge, over_cells
from collect.replication.contrasts import systems_table
from collect.replication.evidence import Measured, Untested, quotient
from collect.report.compare.contrast import contrast
from collect.run.cell import Cell
from collect.stats.anova import Kind, Observations, anova
from collect.stats.estimates import geometric_t
from collect.stats.split_plot import level_differences, split_plot

LINKS, TRANSPORTS, SERVERS, BLOCKS = ("10", "100", "1000"), ("jms", "soap"), (1, 3), 6
CELLS = [
    Cell.of(link_mbit=int(link), transport=transport, servers=servers)
    for link in LINKS
    for transport in TRANSPORTS
    for servers in SERVERS
]
PLOTS = WholePlots(("link_mbit",), {cell: str(cell["link_mbit"]) for cell in CELLS}, {})
OF_BLOCKS, OF_PLOTS, OF_TRIALS = 0.1, 0.1, 0.04
"""Standard deviations, of logs."""
NIGHTS = 2000


def nights(number, seed, plots=OF_PLOTS, effect=0.0):
    """Logs of nights, blocks, links, transports and servers; `effect` is that of the transport."""
    rng = np.random.default_rng(seed)
    shape = (number, BLOCKS, len(LINKS), len(TRANSPORTS), len(SERVERS))
    logs = rng.normal(0, OF_BLOCKS, (*shape[:2], 1, 1, 1))
    logs = logs + rng.normal(0, plots, (*shape[:3], 1, 1)) + rng.normal(0, OF_TRIALS, shape)
    logs[:, :, :, 1] += effect
    return logs


def is_5_percent(alarms):
    """Tell whether so many of all are one in twenty, but for chance (99.9 %)."""
    alarms = np.asarray(alarms)
    low, high = stats.binom.interval(0.999, alarms.size, 0.05)
    return low <= alarms.sum() <= high


def squares(logs):
    """Sums of squares of link, whole-plot error, transport, interaction and within, each night."""
    mean = logs.mean(axis=(1, 2, 3, 4), keepdims=True)
    block, link = (logs.mean(axis=a, keepdims=True) for a in ((2, 3, 4), (1, 3, 4)))
    plot, transport = (logs.mean(axis=a, keepdims=True) for a in ((3, 4), (1, 2, 4)))
    both = logs.mean(axis=(1, 4), keepdims=True)
    effects = {
        "link": link - mean,
        "plots": plot - block - link + mean,
        "transport": transport - mean,
        "both": both - link - transport + mean,
        "within": logs - plot - both + link,
    }
    return {
        name: (np.broadcast_to(part, logs.shape) ** 2).sum(axis=(1, 2, 3, 4))
        for name, part in effects.items()
    }


def p_of(above, df, below, df_below):
    return stats.f.sf(above / df / (below / df_below), df, df_below)


WITHIN = BLOCKS * 12 - 1 - (BLOCKS - 1) - 2 - (BLOCKS - 1) * 2 - 1 - 2


def observed(logs):
    """The observations of one night; the servers are repetitions."""
    places = list(np.ndindex(logs.shape))
    return Observations(
        logs.ravel(),
        (tuple(LINKS[p[1]] for p in places), tuple(TRANSPORTS[p[2]] for p in places)),
        ("link", "transport"),
        tuple(str(p[0]) for p in places),
    )


def measured(logs, plots=PLOTS):
    """One night as the cells of a run."""
    times = np.exp(logs).reshape(len(logs), -1).T
    found = {cell: of_means(cell, values) for cell, values in zip(CELLS, times, strict=True)}
    return Measured(found, plots=plots)


def test_the_table_is_that_of_statsmodels_and_of_the_simulation():
    (logs,) = nights(1, 1)
    table = {row.source: row for row in split_plot(observed(logs), ["link"])}
    read = observed(logs)
    frame = pd.DataFrame(
        {"y": read.response, "link": read.levels[0], "t": read.levels[1], "block": read.blocks}
    )
    model = anova_lm(ols("y ~ C(block) * C(link) + C(link) * C(t)", frame).fit())
    plots = model.loc["C(block):C(link)"]
    assert (table["Whole-plot error"].df, table["Within"].df) == (10, WITHIN)
    assert model.loc["Residual", "df"] == WITHIN
    f = model.loc["C(link)", "mean_sq"] / plots["mean_sq"]
    assert table["link"].f == pytest.approx(f)
    assert table["link"].p_value == pytest.approx(stats.f.sf(f, 2, 10))
    for term, name in (("C(t)", "transport"), ("C(link):C(t)", "Interaction")):
        assert table[name].p_value == pytest.approx(model.loc[term, "PR(>F)"])
    found = {name: float(ss[0]) for name, ss in squares(logs[None]).items()}
    names = ("link", "Whole-plot error", "transport", "Interaction", "Within")
    assert [table[name].ss for name in names] == pytest.approx(list(found.values()))
    # What is tested without strata has one error for all.
    naive = {row.source: row for row in anova(read)}
    assert naive["Within"].ss == pytest.approx(found["plots"] + found["within"])


def test_whole_plots_that_vary_raise_no_false_alarm_of_the_anova():
    ss = squares(nights(NIGHTS, 2))
    assert is_5_percent(p_of(ss["link"], 2, ss["plots"], 10) < 0.05)
    assert is_5_percent(p_of(ss["transport"], 1, ss["within"], WITHIN) < 0.05)
    assert is_5_percent(p_of(ss["both"], 2, ss["within"], WITHIN) < 0.05)
    naive = p_of(ss["link"], 2, ss["plots"] + ss["within"], 10 + WITHIN) < 0.05
    assert not is_5_percent(naive)
    assert naive.mean() > 0.2


def test_a_factor_within_plots_keeps_its_power():
    effect = 0.025
    ss = squares(nights(NIGHTS, 3, effect=effect))
    power = (p_of(ss["transport"], 1, ss["within"], WITHIN) < 0.05).mean()
    shift = BLOCKS * 6 * 2 * (effect / 2) ** 2 / OF_TRIALS**2
    true = stats.ncf.sf(stats.f.ppf(0.95, 1, WITHIN), 1, WITHIN, shift)
    assert 0.5 < true < 0.9
    assert power == pytest.approx(true, abs=0.04)
    naive = p_of(ss["transport"], 1, ss["plots"] + ss["within"], 10 + WITHIN) < 0.05
    assert naive.mean() < power - 0.2


def test_intervals_of_cells_and_of_ratios_between_settings_hold():
    logs = nights(NIGHTS, 4)
    first, second = np.exp(logs[:, :, 0, 0, 0]), np.exp(logs[:, :, 1, 0, 0])
    cells = [geometric_t(one.tolist()) for one in first]
    assert is_5_percent([not one.low <= 1 <= one.high for one in cells])
    ratios = [geometric_t(one.tolist()) for one in first / second]
    assert is_5_percent([not one.low <= 1 <= one.high for one in ratios])
    # As if the trials of a block were exchangeable: one error of all cells inside blocks.
    ss = squares(logs)
    df = 10 + WITHIN
    error = np.sqrt(2 / 24 * (ss["plots"] + ss["within"]) / df)
    links = logs.mean(axis=(3, 4))
    gaps = links[:, :, 0] - links[:, :, 1]
    naive = abs(gaps.mean(axis=1)) > stats.t.ppf(0.975, df) * error
    assert not is_5_percent(naive)
    assert naive.mean() > 0.2
    assert is_5_percent(stats.ttest_1samp(gaps, 0, axis=1).pvalue < 0.05)


def test_differences_of_levels_hold_for_all_pairs_at_once():
    logs = nights(NIGHTS, 5)
    means = logs.mean(axis=(1, 3, 4))
    critical = stats.studentized_range.ppf(0.95, 3, 10)
    half = critical * np.sqrt(squares(logs)["plots"] / 10 / 24)
    assert is_5_percent(np.ptp(means, axis=1) > half)
    read = observed(logs[0])
    found = level_differences(read, ["link"], split_plot(read, ["link"]))
    of_links = [one.difference for one in found if one.factor == "link"]
    assert [one.half_width for one in of_links] == pytest.approx([half[0]] * 3)
    assert of_links[0].value == pytest.approx(means[0, 0] - means[0, 1])


def claim_of(pairs):
    return Claim(
        sentence="Both links take as long.",
        where="",
        statistic="time / time",
        bound=Bound(1, 1),
        numbers=over_cells([(f"{place}", pair, quotient) for place, pair in enumerate(pairs)]),
    )


def test_claims_about_a_setting_fail_as_seldom_as_they_say():
    between = [[CELLS[0], CELLS[4]]]
    all_pairs = [[CELLS[place], CELLS[4 + place]] for place in range(4)]
    found = [measured(one) for one in nights(500, 6)]
    one, several = (
        np.array([judge(claim_of(pairs), night).verdict == Verdict.FAILS for night in found])
        for pairs in (between, all_pairs)
    )
    assert is_5_percent(one)
    assert several.mean() <= 0.08


def test_runs_with_whole_plots_are_compared_as_runs():
    logs = nights(6 * 500, 7).reshape(500, 6, BLOCKS, 12)[:, :, :, 0]
    sides = [np.exp(one) for one in logs]
    found = [contrast(side[:3], side[3:]) for side in sides]
    assert is_5_percent([one.p_value < 0.05 for one in found])
    alone = [contrast(side[:1], side[1:2]) for side in sides]
    assert {one.unit for one in alone} == {"trials"}
    assert is_5_percent([one.p_value < 0.05 for one in alone])


def test_too_few_blocks_give_no_verdict():
    logs = nights(1, 8)[0][:2] + np.log([1, 10, 100])[:, None, None]
    night = measured(logs)
    across, inside = night.statistic([CELLS[0], CELLS[4]], quotient), [CELLS[0], CELLS[2]]
    assert isinstance(across, Untested)
    assert "link_mbit" in across.reason
    assert "share 2 blocks, but 3 are needed" in across.reason
    assert judge(claim_of([[CELLS[0], CELLS[4]]]), night).verdict == Verdict.NOT_TESTED
    assert night.statistic(inside, quotient).low is not None
    of_links, of_transports = (
        systems_table(night, name, {}) for name in ("link_mbit", "transport")
    )
    assert {row[-1].text for row in of_links.rows} == {"too few trials to tell"}
    assert {row[-3].estimate.low for row in of_links.rows} == {None}
    assert "too few trials to tell" not in {row[-1].text for row in of_transports.rows}
    table = {row.source: row for row in split_plot(observed(logs), ["link"])}
    assert table["link"].p_value is None
    assert table["transport"].p_value is not None
    assert table["Whole-plot error"].kind == Kind.WHOLE_PLOT_ERROR
