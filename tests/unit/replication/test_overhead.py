import math
import re
from dataclasses import replace

import numpy as np
import pytest
import yaml
from scipy import stats
from synthetic import STUDIES, make_run, of_means, overhead_times

from collect.cells.analysis import analyse
from collect.cells.plots import WholePlots
from collect.replication.claims import Verdict, judge
from collect.replication.evidence import Measured
from collect.replication.exhibits import Figure
from collect.replication.replicate import replicate
from collect.replication.studies import find
from collect.replication.studies.overhead.experiments import EXPERIMENTS
from collect.replication.studies.overhead.variance import table_of_trials
from collect.run.cell import Cell
from collect.run.directory import open_run
from collect.stats.anova import Observations, anova, with_moments
from collect.stats.components import share_between
from collect.stats.estimates import Estimate, Moments
from collect.stats.groups import explained

OVERHEAD = find("overhead")
PUBLISHED = OVERHEAD.published()
SOURCES = {cell.source for cell in PUBLISHED.cells.values()}


def cell(protocol, size):
    return Cell.of(experiment="size", protocol=protocol, reply_bytes=size, elements=1)


def on(evidence, part):
    (claim,) = [claim for claim in OVERHEAD.claims if part in claim.sentence]
    return judge(claim, evidence)


def values(judgement):
    return [estimate.value for estimate in judgement.tested]


@pytest.fixture(scope="module")
def paper(shared_run):
    return replicate(analyse(shared_run("overhead", "paper")))


@pytest.fixture(scope="module")
def demo(shared_run):
    return replicate(analyse(shared_run("overhead", "demo")))


@pytest.mark.parametrize(
    ("looks", "verdicts"),
    [([10, 20, 40], {Verdict.HOLDS, Verdict.INCONCLUSIVE}), ([2, 30], {Verdict.INCONCLUSIVE})],
)
def test_two_blocks_of_a_run_that_may_hardly_err_yet_refute_nothing(tmp_path, looks, verdicts):
    study = yaml.safe_load((STUDIES / "overhead.yml").read_text())
    rule = {"half_width": 0.05, "looks": looks}
    study["profiles"]["paper"] |= {"stop": rule, "replicates": looks[-1], "calls": 5, "where": []}
    text = yaml.safe_dump(study, sort_keys=False)
    make_run(tmp_path / "two", overhead_times, profile="paper", study=text, until=2 * 29)
    found = replicate(analyse(open_run(str(tmp_path / "two"))))
    assert {one.measured.verdict for one in found.claims} == verdicts
    assert all(exhibit.title for exhibit in found.exhibits)


def test_the_published_cells_are_whole_and_named():
    assert len(PUBLISHED.keys) == 2 + 20 + 7
    assert {source.split(", ")[1] for source in SOURCES} == {"Figure 3", "Figure 5", "Figure 7"}
    assert PUBLISHED.moments(cell("tcp", 20000)) == Moments(50, 13.78, 326.2)


def test_one_byte_takes_13_4_times_as_long_on_paper():
    judgement = on(PUBLISHED, "over 13 times")
    assert judgement.verdict == Verdict.HOLDS
    assert values(judgement) == pytest.approx([13.4], abs=0.05)


def effects(words):
    """The labels of a claim about significance on paper, each of which holds."""
    judgement = on(PUBLISHED, words)
    assert all(0 < r.estimate.low < r.estimate.value < r.estimate.high for r in judgement.results)
    return [result.label.replace("\u202f", " ") for result in judgement.results]


def test_printed_tables_are_judged_as_printed():
    assert effects("significant at one byte") == ["protocol, F 16 719 against 3.9"]
    assert values(on(PUBLISHED, "almost everything")) == pytest.approx([0.945], abs=5e-4)
    assert effects("Size, protocol") == [
        "size, F 50.1 against 1.9",
        "protocol, F 1 708 against 3.9",
        "interaction, F 3.2 against 1.9",
    ]
    assert effects("elements is significant") == ["elements, F 3.2 against 2.1"]
    assert values(on(PUBLISHED, "about 5 %")) == pytest.approx([0.052], abs=5e-4)


def test_intervals_never_overlap_on_paper():
    judgement = on(PUBLISHED, "never overlap")
    assert judgement.holding == 10
    assert all(result.estimate.is_confirmed for result in judgement.results)


def test_the_ratio_falls_from_13_5_to_2_on_paper():
    judgement = on(PUBLISHED, "ratio falls")
    assert values(judgement) == pytest.approx([13.57, 1.994], rel=5e-3)
    assert judgement.holding == 2


def test_every_claim_holds_in_the_paper_s_own_numbers():
    assert {judge(claim, PUBLISHED).verdict for claim in OVERHEAD.claims} == {Verdict.HOLDS}


def test_the_overhead_is_13_to_20_ms_on_paper():
    sizes = sorted({c["reply_bytes"] for c in PUBLISHED.keys if c["experiment"] == "size"})
    overheads = [
        PUBLISHED.difference(cell("soap", size), cell("tcp", size)).value for size in sizes
    ]
    assert (round(min(overheads)), round(max(overheads))) == (13, 20)
    alike = on(PUBLISHED, "between 13 and 20 ms")
    assert len(alike.results) == 45
    widest = max(max(value, 1 / value) for value in values(alike))
    assert widest == pytest.approx(max(overheads) / min(overheads))
    assert alike.results[0].label == "100 against 1 byte"
    assert values(alike)[0] == pytest.approx(overheads[1] / overheads[0])


def test_the_half_intervals_and_the_sums_are_those_of_print(paper):
    (tcp, soap) = table(paper, "Figure 3: one-byte replies, summary").rows
    assert [entry.estimate.value for entry in (tcp[5], soap[5])] == [0.0340, 0.1979]
    assert [entry.estimate.value for entry in (tcp[2], soap[2])] == [522.9, 7012.9]


def table(replication, title):
    (found,) = [e for e in replication.exhibits if e.title == title]
    return found


def row(exhibit, *labels):
    (found,) = [r for r in exhibit.rows if [entry.text for entry in r[: len(labels)]] == [*labels]]
    return [
        entry.estimate.value if entry.estimate else entry.sort for entry in found[len(labels) :]
    ]


def test_the_tables_of_variance_stand_printed_and_recomputed(paper):
    one_byte = table(paper, "Figure 3: analysis of variance")
    assert row(one_byte, "Protocol", "paper")[:4] == [42979.7, 1, 42979.7, 16719.0]
    assert row(one_byte, "Protocol", "paper, recomputed")[3] == pytest.approx(16724, rel=1e-3)
    two_way = table(paper, "Figure 6: analysis of variance")
    for source, f in (("Size", 50.10), ("Protocol", 1707.88), ("Interaction", 3.19)):
        assert row(two_way, source, "paper, recomputed")[3] == pytest.approx(f, rel=3e-3)
    elements = table(paper, "Figure 7: analysis of variance")
    assert row(elements, "Elements", "paper, recomputed")[3] == pytest.approx(3.16, abs=0.01)


def test_calls_as_samples_have_the_degrees_of_freedom_of_the_paper(paper):
    for figure, freedom in (("3", 978), ("6", 980), ("7", 343)):
        exhibit = table(paper, f"Figure {figure}: analysis of variance")
        assert row(exhibit, "Within", "paper")[1] == freedom
        assert row(exhibit, "Within", "measured: calls as samples")[1] == freedom
    trials = row(table(paper, "Figure 6: analysis of variance"), "Within", "measured: trials")
    assert trials[1] == (20 - 1) * (5 - 1)
    blocks = row(table(paper, "Figure 6: analysis of variance"), "Block", "measured: trials")
    assert blocks[1] == 5 - 1


def test_the_table_of_calls_is_that_of_the_very_calls(shared_run):
    analysis = analyse(shared_run("overhead", "paper"))
    measured = replicate(analysis).measured
    cells = [key for key in measured.keys if key["experiment"] == "elements"]
    groups = {(str(key["elements"]),): measured.moments(key) for key in cells}
    from_moments = anova(with_moments(groups, ["elements"]))
    times = {
        key: [t for trial in measured.cells[key].counted for t in trial.course_ms] for key in cells
    }
    grand = sum(map(sum, times.values())) / sum(map(len, times.values()))
    between = sum(len(v) * (sum(v) / len(v) - grand) ** 2 for v in times.values())
    total = sum((t - grand) ** 2 for v in times.values() for t in v)
    assert (from_moments[0].ss, from_moments[-1].ss) == pytest.approx((between, total))


def test_a_run_is_judged_on_trials(paper):
    assert on(paper.measured, "significant at one byte").verdict == Verdict.HOLDS
    assert on(paper.measured, "never overlap").verdict == Verdict.HOLDS
    share = on(paper.measured, "almost everything").results[0].estimate
    assert 0.9 < share.low < share.value < share.high <= 1
    assert share.samples == 5


def test_a_profile_without_all_sizes_and_elements_does_not_test_what_is_about_them(demo):
    for part in ("over 13 times", "significant at one byte", "ratio falls"):
        assert on(demo.measured, part).verdict != Verdict.NOT_TESTED, part
    for part in ("Size, protocol", "never overlap", "elements is significant", "about 5 %"):
        assert on(demo.measured, part).verdict == Verdict.NOT_TESTED, part


def test_overlapping_intervals_are_inconclusive(run_of):
    """With two trials an interval is so wide that both lie in it."""

    def times(planned, rng):
        level = 1.0 if planned.factors["protocol"] == "tcp" else 1.5
        return [level * planned.block] * planned.calls

    measured = replicate(analyse(run_of(times, study="overhead"))).measured
    results = {r.label: r.verdict for r in on(measured, "never overlap").results}
    assert results["1 byte"] == Verdict.INCONCLUSIVE


def test_a_share_of_cells_that_share_no_block_is_not_tested(run_of):
    def times(planned, rng):
        is_broken = (planned.factors["protocol"] == "tcp") == (planned.block % 2 == 0)
        return "failed" if is_broken else overhead_times(planned, rng)

    run = run_of(times, study="overhead", profile="paper")
    measured = Measured({result.cell: result for result in analyse(run).cells})
    judgement = on(measured, "almost everything")
    assert judgement.verdict == Verdict.NOT_TESTED
    assert "are confounded" in judgement.only.text


@pytest.mark.parametrize(("zeros", "verdict"), [(3, Verdict.NOT_TESTED), (1, Verdict.INCONCLUSIVE)])
def test_calls_of_0_ms_leave_the_share_on_logs_open(run_of, zeros, verdict):
    """As clocks of whole milliseconds give them; blocks without them are those of slow calls."""

    def times(planned, rng):
        first, *others = overhead_times(planned, rng)
        is_short = planned.factors["protocol"] == "tcp" and planned.block <= zeros
        return [0.0 if is_short else first, *others]

    measured = replicate(analyse(run_of(times, study="overhead"))).measured
    judgement = on(measured, "almost everything")
    assert judgement.verdict == verdict
    if zeros == 3:
        assert judgement.only.text == "in no block are the times of all calls known and above 0 ms"
    else:
        assert (judgement.tested[0].samples, judgement.tested[0].low) == (2, None)
    (_, in_ms) = judgement.beside[0]
    assert in_ms.low < in_ms.value < in_ms.high


def test_o_of_m_and_p_is_the_difference_of_the_response_times(paper):
    exhibit = table(paper, "Overhead O(m, p)")
    printed, _, own, ratio = row(exhibit, "20 000".replace(" ", "\u202f"), "1")
    assert printed == pytest.approx(27.478 - 13.78)
    assert own == pytest.approx(1.3 + 0.02 + 2e-5 * 20000 - 0.1, rel=0.25)
    assert ratio > 1
    assert len(exhibit.rows) == 10 + 6


def test_the_summary_says_how_many_times_as_long_soap_takes_and_what_it_adds(paper):
    times, adds = paper.summary
    assert times.endswith("times as long over SOAP/HTTP as over TCP; in the paper 13.4 times.")
    numbers = [re.search(r"(?:took|added) ([\d.]+) \[", one)[1] for one in (times, adds)]
    wanted = [(1.3 + 0.02) / 0.1, 1.3 + 0.02 + 2e-5 * 20000 - 0.1]
    assert [float(number) for number in numbers] == pytest.approx(wanted, rel=0.25)


def test_figure_4_has_the_intervals_of_the_paper(paper):
    (figure,) = [e for e in paper.exhibits if isinstance(e, Figure)]
    assert [panel.title for panel in figure.panels] == ["Paper", "Measured"]
    estimate = figure.data.rows[0][2].estimate
    assert estimate.half_width == pytest.approx(2.0096 * (0.12 / 50) ** 0.5, rel=1e-3)


def test_a_cell_that_failed_leaves_the_other_experiments_alone(run_of):
    def times(planned, rng):
        is_broken = (
            planned.factors["experiment"] == "elements" and planned.factors["elements"] == 20
        )
        return "failed" if is_broken else overhead_times(planned, rng)

    replication = replicate(analyse(run_of(times, study="overhead")))
    elements = table(replication, "Figure 7: analysis of variance")
    assert "elements, soap, 20\u202f000, 20: failed" in elements.caption
    assert {r[1].text for r in elements.rows} == {"paper", "paper, recomputed"}
    assert len(table(replication, "Figure 3: analysis of variance").rows) == 3 * 4 + 1


def test_a_share_takes_forks_for_samples():
    blocks = [[Moments(50, 10 + d, 0.01), Moments(50, 11 - d, 0.01)] for d in (0, 0.2, 0.4, 0.6)]
    unsure = share_between(blocks)
    assert unsure.low < unsure.value < unsure.high
    assert unsure.high - unsure.low > 0.1
    assert share_between(blocks[:1]) == Estimate(share_between(blocks[:1]).value, samples=1)


def test_a_share_lies_in_its_interval_however_far_blocks_are_apart():
    forks = (0.01, -0.02, 0.02, -0.01, 0.015)
    blocks = [
        [Moments(98, block + fork, 0.06), Moments(98, block + 1.6 - fork, 0.06)]
        for block, fork in enumerate(forks)
    ]
    found = share_between(blocks)
    assert found.low < found.value < found.high


def test_a_share_of_trials_without_variation_has_no_interval():
    """The rounding of their logs is no variation."""
    row = [Moments(98, math.log(ms), 0.0) for ms in (10, 50)]
    found = share_between([row] * 3)
    assert (found.value, found.low) == (pytest.approx(1), None)


def test_a_share_of_trials_that_hardly_vary_has_an_interval():
    """The noncentral chi-squared distribution of scipy is no number that far out."""
    blocks = [
        [Moments(98, 1 + fork, 1e-6), Moments(98, 2 - fork, 1e-6)]
        for fork in (0, 1e-7, -1e-7, 2e-7)
    ]
    found = share_between(blocks)
    assert 0.99 < found.low <= found.value <= found.high <= 1


def test_every_claim_and_analysis_of_a_run_is_corrected_for_interim_analyses(paper):
    single, measured = (replace(paper.measured, error=error) for error in (0.05, 0.05 / 3))
    for judged in paper.claims:
        both = (judge(judged.claim, evidence).tested for evidence in (single, measured))
        for fixed, corrected in zip(*both, strict=True):
            assert corrected.value == fixed.value
            assert (corrected.low, corrected.high) != (fixed.low, fixed.high)
            assert corrected.low <= fixed.low
            assert corrected.high >= fixed.high
    exhibits = (OVERHEAD.exhibits(PUBLISHED, evidence) for evidence in (single, measured))
    for one, other in zip(*exhibits, strict=True):
        if not one.id.endswith("-anova"):
            continue
        for fixed, corrected in zip(one.rows, other.rows, strict=True):
            if fixed[1].text != "measured: trials" or not fixed[5].estimate:
                assert corrected == fixed
                continue
            (p, crit), (corrected_p, corrected_crit) = fixed[6:8], corrected[6:8]
            assert corrected_crit.estimate.value > crit.estimate.value
            if p.estimate:
                wanted = min(1, 3 * p.estimate.value)
                assert corrected_p.estimate.value == pytest.approx(wanted)


def test_intervals_that_overlap_show_no_ratio_whatever_its_own_says(run_of):
    """Blocks differ by far more than the protocols: ratios are sure, and both intervals are "
    "wide."""

    def times(planned, rng):
        level = 1.0 if planned.factors["protocol"] == "tcp" else 1.5
        return [level * 4.0**planned.block * rng.lognormal(0, 0.01)] * planned.calls

    measured = replicate(analyse(run_of(times, study="overhead", profile="paper"))).measured
    judgement = on(measured, "never overlap")
    for result in judgement.results:
        assert 1.3 < result.estimate.low < result.estimate.high < 1.7
        assert result.verdict == Verdict.INCONCLUSIVE


def test_trials_are_analysed_on_logs():
    """What sizes add to TCP is lost on the raw scale in what SOAP varies by."""
    rng = np.random.default_rng(8)
    keys = [key for key in PUBLISHED.keys if key["experiment"] == "size"]
    measured = made(
        keys,
        {
            key: (40 * rng.lognormal(0, 0.5, size=5))
            if key["protocol"] == "soap"
            else (1 + key["reply_bytes"] / 4000) * rng.lognormal(0, 0.05, size=5)
            for key in keys
        },
    )
    experiment = next(one for one in EXPERIMENTS if one.name == "size")
    size, *_ = table_of_trials(experiment, measured)
    assert size.p_value < 0.001
    raw = [list(measured.samples(key).values()) for key in keys]
    levels = [experiment.levels(key) for key in keys for _ in range(5)]
    blocks = tuple(str(block) for _ in keys for block in range(5))
    plain = anova(Observations(np.ravel(raw), tuple(zip(*levels, strict=True)), ("a", "b"), blocks))
    assert plain[0].p_value > 0.1


def test_critical_values_allow_for_cells_that_vary_more():
    rng = np.random.default_rng(9)
    keys = [key for key in PUBLISHED.keys if key["experiment"] == "elements"]
    one_wild = made(
        keys,
        {key: 10 * rng.lognormal(0, 1.5 if key["elements"] == 8 else 0.02, size=5) for key in keys},
    )
    row = table_of_trials(EXPERIMENTS[-1], one_wild)[0]
    tabled = float(stats.f.isf(0.05, 6, 24))
    assert row.f_crit > 1.2 * tabled
    assert row.p_value > float(stats.f.sf(row.f, 6, 24))


def test_each_trial_is_taken_with_its_own_block():
    """Blocks are ten times apart, and each of two cells lacks another one in the middle."""
    rng = np.random.default_rng(10)
    keys = [key for key in PUBLISHED.keys if key["experiment"] == "elements"]
    whole = made(keys, {key: 10.0 ** np.arange(5) * rng.lognormal(0, 0.01, size=5) for key in keys})
    lacking = {keys[0]: 2, keys[1]: 4}
    cells = {
        key: replace(
            cell, trials=tuple(t for t in cell.trials if t.trial.block != lacking.get(key))
        )
        for key, cell in whole.cells.items()
    }
    rows = {one.source: one for one in table_of_trials(EXPERIMENTS[-1], Measured(cells))}
    assert (rows["Block"].df, rows["Within"].df) == (4, 7 * 5 - 2 - 1 - 6 - 4)
    assert rows["Within"].ms < 4 * 0.01**2


def test_a_protocol_in_whole_plots_is_tested_against_them():
    """Plots vary, protocols and sizes do not: inside blocks alone the protocol would differ."""
    rng = np.random.default_rng(11)
    keys = [key for key in PUBLISHED.keys if key["experiment"] == "size"]
    experiment = next(one for one in EXPERIMENTS if one.name == "size")
    plots = WholePlots(("protocol",), {key: str(key["protocol"]) for key in keys}, {})
    false = {"strata": 0, "plain": 0}
    for _ in range(12):
        of_plot = {name: rng.lognormal(0, 0.2, size=6) for name in ("tcp", "soap")}
        times = {key: of_plot[key["protocol"]] * rng.lognormal(0, 0.02, size=6) for key in keys}
        plain = made(keys, times)
        split = replace(plain, plots=plots)
        for name, night in (("strata", split), ("plain", plain)):
            judged = on(night, "Size, protocol and their interaction")
            (protocol,) = [r for r in judged.results if r.label.startswith("protocol")]
            false[name] += protocol.estimate.low > 0
    assert false["strata"] <= 3
    assert false["plain"] >= 6
    rows = {one.source: one for one in table_of_trials(experiment, split)}
    assert (rows["Whole-plot error"].df, rows["Within"].df) == (5, 90)
    short = replace(made(keys, {key: times[key][:2] for key in keys}), plots=plots)
    assert "3 are needed" in table_of_trials(experiment, short).reason


def test_the_share_of_a_protocol_between_plots_is_that_of_the_means_of_plots():
    """However many trials a plot has, they are one observation of what differs between plots."""
    rng = np.random.default_rng(12)
    keys = [key for key in PUBLISHED.keys if key["experiment"] == "size"]
    of_plot = {"tcp": rng.lognormal(0, 0.2, size=6), "soap": rng.lognormal(0.3, 0.2, size=6)}
    times = {key: of_plot[key["protocol"]] * rng.lognormal(0, 0.02, size=6) for key in keys}
    plots = WholePlots(("protocol",), {key: str(key["protocol"]) for key in keys}, {})
    judged = on(replace(made(keys, times), plots=plots), "Size, protocol and their interaction")
    share = {result.label.partition(",")[0]: result.estimate for result in judged.results}
    means = {
        name: np.mean([np.log(times[key]) for key in keys if key["protocol"] == name], axis=0)
        for name in of_plot
    }
    f = float(stats.ttest_rel(means["soap"], means["tcp"]).statistic) ** 2
    wanted = explained(f, 1, 5, 12)
    found = share["protocol"]
    assert (found.low, found.value, found.high) == pytest.approx(
        (wanted.low, wanted.value, wanted.high), rel=1e-6
    )
    assert (share["size"].samples, share["interaction"].samples) == (120, 120)


def made(keys, times):
    """A run whose cells have these trial means, one a block."""
    return Measured({key: of_means(key, times[key]) for key in keys})
