"""Split plots: a textbook's table, and false alarms where whole plots vary."""

import json
from dataclasses import replace

import numpy as np
import pytest

from collect.cli import main
from collect.errors import InputError
from collect.stats.anova import Observations, anova
from collect.stats.split_plot import level_differences, parted, split_plot

VARIETIES, NITROGEN = ("Victory", "Golden rain", "Marvellous"), ("0.0", "0.2", "0.4", "0.6")
# Yates (1935), Complex experiments: yields of oats, six blocks of three varieties, split into four.
OATS = [
    [111, 130, 157, 174, 117, 114, 161, 141, 105, 140, 118, 156],
    [61, 91, 97, 100, 70, 108, 126, 149, 96, 124, 121, 144],
    [68, 64, 112, 86, 60, 102, 89, 96, 89, 129, 132, 124],
    [74, 89, 81, 122, 64, 103, 132, 133, 70, 89, 104, 117],
    [62, 90, 100, 116, 80, 82, 94, 126, 63, 70, 109, 99],
    [53, 74, 118, 113, 89, 82, 86, 104, 97, 99, 119, 121],
]


def observations_of(yields):
    rows = [
        (value, VARIETIES[place // 4], NITROGEN[place % 4], str(block))
        for block, plots in enumerate(yields, start=1)
        for place, value in enumerate(plots)
    ]
    values, variety, nitrogen, blocks = zip(*rows, strict=True)
    return Observations(np.array(values), (variety, nitrogen), ("variety", "nitrogen"), blocks)


@pytest.fixture
def oats(tmp_path):
    read = observations_of(OATS)
    rows = zip(read.blocks, *read.levels, read.response, strict=True)
    lines = ["block,variety,nitrogen,yield", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "oats.csv").write_text("\n".join(lines))
    return tmp_path / "oats.csv"


def test_the_table_is_that_of_the_textbook():
    table = {row.source: row for row in split_plot(observations_of(OATS), ["variety"])}
    assert list(table) == [
        *("variety", "Block", "Whole-plot error"),
        *("nitrogen", "Interaction", "Within", "Total"),
    ]
    for source, df, ms in (
        ("Block", 5, 3175.1),
        ("variety", 2, 893.2),
        ("Whole-plot error", 10, 601.3),
        ("nitrogen", 3, 6673.5),
        ("Interaction", 6, 53.6),
        ("Within", 45, 177.1),
    ):
        assert table[source].df == df
        assert table[source].ms == pytest.approx(ms, abs=0.06)
    assert table["variety"].f == pytest.approx(1.485, abs=5e-4)
    assert table["variety"].p_value == pytest.approx(0.2724, abs=5e-5)
    assert table["nitrogen"].f == pytest.approx(37.69, abs=5e-3)
    assert table["Interaction"].f == pytest.approx(0.303, abs=5e-4)
    assert sum(row.share or 0 for row in table.values()) == pytest.approx(1)


SIGNS = [
    (block, jdk, gc, enc)
    for block in (-1, 0, 1)
    for jdk in (-1, 1)
    for gc in (-1, 1)
    for enc in (-1, 1)
]
"""Three blocks of four whole plots, jdk x gc, that are split by enc: 24 observations."""


def of_signs(plots=lambda jdk, gc: f"{jdk} {gc}"):
    """Observations of which each sum of squares is the square of a number times a count."""
    response = [
        sum((10, b, 2 * j, 0.5 * j * b))  # block, jdk, whole-plot error
        + sum((3 * g, j * g, 0.5 * g * b))  # the other whole plots
        + sum((e, 0.25 * j * e))  # enc, interaction
        + sum((0.5 * g * e, 0.25 * b * e))  # within
        for b, j, g, e in SIGNS
    ]
    blocks, jdk, _, enc = (tuple(map(str, column)) for column in zip(*SIGNS, strict=True))
    settings = tuple(plots(j, g) for _, j, g, _ in SIGNS)
    return Observations(
        np.array(response), (jdk, enc), ("jdk", "enc"), blocks, "block", plots=settings
    )


def test_what_other_factors_do_between_whole_plots_is_no_part_of_the_error_within():
    """By hand: 24 squares of a number each, or 16 where the block, -1, 0 or 1, is a factor."""
    table = {row.source: row for row in split_plot(of_signs(), ["jdk"])}
    expected = {
        "jdk": (1, 24 * 4),
        "block": (2, 16 * 1),
        "Whole-plot error": (2, 16 * 0.25),
        "Other whole plots": (6, 24 * 9 + 24 * 1 + 16 * 0.25),
        "enc": (1, 24 * 1),
        "Interaction": (1, 24 * 0.0625),
        "Within": (10, 24 * 0.25 + 16 * 0.0625),
        "Total": (23, 392.5),
    }
    assert list(table) == list(expected)
    for source, (df, squares) in expected.items():
        assert table[source].df == df, source
        assert table[source].ss == pytest.approx(squares), source
    assert table["enc"].f == pytest.approx(24 / 0.7)
    assert table["jdk"].f == pytest.approx(96 / 2)
    assert table["Other whole plots"].f is None
    assert sum(row.share or 0 for row in table.values()) == pytest.approx(1)


def test_plots_that_are_the_levels_of_the_factor_change_nothing():
    read = of_signs(lambda jdk, gc: f"jdk {jdk}")
    assert split_plot(read, ["jdk"]) == split_plot(replace(read, plots=()), ["jdk"])


def test_a_factor_that_varies_within_the_real_plots_may_stand_against_its_blocks():
    """It is not what was set once, so the plots of the table are those of the factor."""
    read = of_signs()
    assert split_plot(read, ["enc"]) == split_plot(replace(read, plots=()), ["enc"])


@pytest.mark.parametrize("unit", [1, 0.1])
@pytest.mark.parametrize("error", ["Whole-plot error", "Within"])
def test_an_error_of_rounding_alone_is_none(error, unit):
    """Either the halves of a plot differ in opposite directions, or whole plots do."""
    noise = [[1, 2], [3, 5], [8, 4]]
    cells = [(block, jdk, enc) for block in range(3) for jdk in range(2) for enc in range(2)]
    signs = (-1, 1) if error == "Whole-plot error" else (1, 1)
    response = [unit * (10 * b + 3 * j + e + signs[e] * noise[b][j]) for b, j, e in cells]
    blocks, jdk, enc = (tuple(map(str, column)) for column in zip(*cells, strict=True))
    read = Observations(np.array(response), (jdk, enc), ("jdk", "enc"), blocks)
    with pytest.raises(InputError, match=f"^{error} is 0, so nothing can be tested against it"):
        split_plot(read, ["jdk"])


def test_unequal_plots_are_refused():
    read = of_signs(lambda jdk, gc: str(jdk) if jdk < 0 else f"{jdk} {gc}")
    with pytest.raises(InputError, match=r"has 1 observations, others have more; whole plots need"):
        split_plot(read, ["jdk"])


@pytest.mark.parametrize(
    ("levels", "settings", "is_parted"),
    [
        ("abab", "1122", False),  # every level in every plot
        ("aabb", "1122", False),  # a plot for each level
        ("aabb", "1234", False),  # several plots for each level
        ("abcc", "1122", True),  # two levels share a plot, the third has its own
        ("abac", "1122", True),
        ("aba", "112", False),  # a level is missing in one plot
    ],
)
def test_a_factor_is_parted_where_some_of_its_levels_share_a_plot(levels, settings, is_parted):
    assert parted(levels, settings) == is_parted


def test_each_difference_has_the_error_of_its_factor():
    read = observations_of(OATS)
    found = level_differences(read, ["variety"], split_plot(read, ["variety"]))
    widths = {one.factor: one.difference.half_width for one in found}
    # Studentised ranges q(3, 10) = 3.877 and q(4, 45) = 3.773, from tables.
    assert widths["variety"] == pytest.approx(3.877 * (601.3 / 24) ** 0.5, rel=1e-3)
    assert widths["nitrogen"] == pytest.approx(3.773 * (177.1 / 18) ** 0.5, rel=1e-3)


def test_whole_plots_that_vary_raise_no_false_alarm():
    rng = np.random.default_rng(8)
    alarms = {"split": 0, "plain": 0}
    nights = 100
    for _ in range(nights):
        plots = np.repeat(rng.normal(0, 1, (6, 3)), 4, axis=1) + rng.normal(0, 1, (6, 12))
        read = observations_of(plots.tolist())
        alarms["split"] += split_plot(read, ["variety"])[0].p_value < 0.05
        alarms["plain"] += anova(read)[0].p_value < 0.05
    assert alarms["split"] / nights <= 0.1
    assert alarms["plain"] / nights > 0.2


def test_one_factor_is_tested_against_whole_plots_and_not_against_repetitions(oats, capsys):
    arguments = ["anova", str(oats), "--response", "yield", "--factor", "variety"]
    assert main([*arguments, "--block", "block", "--whole-plot", "variety", "--json"]) == 0
    table = {row["Source"]: row for row in json.loads(capsys.readouterr().out)}
    assert table["variety"]["F"] == pytest.approx(1.485, abs=5e-4)
    assert table["Within"]["df"] == 54


def test_the_table_and_the_differences_are_printed_as_text_and_as_json(oats, capsys):
    arguments = ["anova", str(oats), "--response", "yield", "--block", "block"]
    factors = ["--factor", "variety", "--factor", "nitrogen", "--whole-plot", "variety"]
    assert main([*arguments, *factors]) == 0
    said = capsys.readouterr().out
    assert "Whole-plot error" in said
    assert "Golden rain - Victory" in said
    assert main([*arguments, *factors, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {row["Source"]: row["Error term"] for row in told} == {
        **dict.fromkeys(("block", "variety"), "Whole-plot error"),
        **dict.fromkeys(("nitrogen", "Interaction"), "Within"),
        **dict.fromkeys(("Whole-plot error", "Within", "Total")),
    }
    found = {row["Source"]: row["Differences"] for row in told if row["Differences"]}
    assert {name: len(of_levels) for name, of_levels in found.items()} == {
        "variety": 3,
        "nitrogen": 6,
    }
    for one in found["variety"] + found["nitrogen"]:
        line = next(row for row in said.splitlines() if " - ".join(one["levels"]) in row)
        assert f"[{one['ci95_low']:.6g}, {one['ci95_high']:.6g}]" in line
        assert line.split()[-1] == f"{one['p_value']:.3g}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda o: (o, ["nitro"]), "whole plot 'nitro' is not a factor; name one of variety"),
        (
            lambda o: (Observations(o.response, o.levels, o.factors), ["variety"]),
            "no block is given",
        ),
        (
            lambda o: (
                Observations(
                    o.response[1:], tuple(x[1:] for x in o.levels), o.factors, o.blocks[1:]
                ),
                ["variety"],
            ),
            "1 combinations of block and levels have no observation",
        ),
    ],
)
def test_what_is_no_split_plot_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        split_plot(*change(observations_of(OATS)))


def test_the_strata_are_printed(oats, capsys):
    arguments = ["anova", str(oats), "--response", "yield", "--block", "block"]
    factors = ["--factor", "variety", "--factor", "nitrogen", "--whole-plot", "variety"]
    assert main([*arguments, *factors]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "Between whole plots (18 in 6 blocks): variety against Whole-plot error, 10 degrees of "
        "freedom. Within whole plots: nitrogen, Interaction against Within, 45 degrees of freedom."
    ) in said


def test_two_blocks_give_no_verdict_on_the_whole_plots(tmp_path, capsys):
    read = observations_of(OATS[:2])
    rows = zip(read.blocks, *read.levels, read.response, strict=True)
    lines = ["block,variety,nitrogen,yield", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "short.csv").write_text("\n".join(lines))
    arguments = ["anova", str(tmp_path / "short.csv"), "--response", "yield", "--block", "block"]
    factors = ["--factor", "variety", "--factor", "nitrogen", "--whole-plot", "variety"]
    assert main([*arguments, *factors]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "there are 2 blocks, but 3 are needed; run more blocks" in said
    assert "Golden rain - Victory" not in said
    assert "0.0 - 0.2" in said
    assert main([*arguments, *factors, "--json"]) == 0
    streams = capsys.readouterr()
    assert streams.err.startswith("collect: no verdict on effects that are tested against the")
    told = json.loads(streams.out)
    table = {row["Source"]: row for row in told}
    assert table["variety"]["P-value"] is None
    assert table["nitrogen"]["P-value"] < 0.05
    assert {name for name, row in table.items() if row["Differences"]} == {"nitrogen"}
