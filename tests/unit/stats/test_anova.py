import contextlib
import io
import json
import os

import numpy as np
import pytest

from collect.cli import main
from collect.errors import InputError
from collect.stats.anova import Observations, anova

# R's PlantGrowth (Dobson 1983): anova(lm(weight ~ group)) gives F 4.8461, p 0.01591.
PLANTS = {
    "ctrl": [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14],
    "trt1": [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
    "trt2": [6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26],
}
# R's ToothGrowth (Crampton 1947): summary(aov(len ~ supp * factor(dose))) gives SS 205.4, 2426.4,
# 108.3, 712.1 and F 15.572, 92.000, 4.107.
TEETH = {
    ("VC", "0.5"): [4.2, 11.5, 7.3, 5.8, 6.4, 10, 11.2, 11.2, 5.2, 7],
    ("VC", "1"): [16.5, 16.5, 15.2, 17.3, 22.5, 17.3, 13.6, 14.5, 18.8, 15.5],
    ("VC", "2"): [23.6, 18.5, 33.9, 25.5, 26.4, 32.5, 26.7, 21.5, 23.3, 29.5],
    ("OJ", "0.5"): [15.2, 21.5, 17.6, 9.7, 14.5, 10, 8.2, 9.4, 16.5, 9.7],
    ("OJ", "1"): [19.7, 23.3, 23.6, 26.4, 20, 25.2, 25.8, 21.2, 14.5, 27.3],
    ("OJ", "2"): [25.5, 26.4, 22.4, 24.5, 24.8, 30.9, 26.4, 27.3, 29.4, 23],
}
# Montgomery, Design and Analysis of Experiments, section 4.1: vascular grafts by pressure of the
# extrusion in blocks of resin; SS 178.17 of pressures, 192.25 of blocks, 109.89 left, F 8.11.
GRAFTS = {
    "8500": [90.3, 89.2, 98.2, 93.9, 87.4, 97.9],
    "8700": [92.5, 89.5, 90.6, 94.7, 87.0, 95.8],
    "8900": [85.5, 90.8, 89.6, 86.2, 88.0, 93.4],
    "9100": [82.5, 89.5, 85.6, 87.4, 78.9, 90.7],
}
# NIST Statistical Reference Datasets, analysis of variance: resistivity of silicon by instrument
# (Ehrstein and Croarkin), certified F 1.18046237440255.
RESISTIVITY = {
    "1": [196.3052, 196.1240, 196.1890, 196.2569, 196.3403],
    "2": [196.3042, 196.3825, 196.1669, 196.3257, 196.0422],
    "3": [196.1303, 196.2005, 196.2889, 196.0343, 196.1811],
    "4": [196.2795, 196.1748, 196.1494, 196.1485, 195.9885],
    "5": [196.2119, 196.1051, 196.1850, 196.0052, 196.2090],
}
# The same, atomic weight of silver by instrument (Powell, Murphy and Gramlich 1982), less
# 107.868 and in units of 1e-7: certified F 15.9467335677930.
SILVER = {
    "1": (
        *(1568, 1465, 1572, 1785, 1446, 1903, 1526, 1494, 1616, 1587, 1519, 1486),
        *(1419, 1569, 1508, 1672, 1385, 1518, 1662, 1424, 1360, 1333, 1610, 1477),
    ),
    "2": (
        *(1079, 1344, 1513, 1197, 1604, 1385, 1642, 1365, 1151, 1082, 1517, 1448),
        *(1198, 1482, 1334, 1609, 1101, 1512, 1469, 1360, 1254, 1261, 1450, 1368),
    ),
}
# Menascé and Dubey, Figure 5: average and variance by message size, TCP then SOAP/HTTP, n = 50.
FIGURE_5 = {
    "1": (1.082, 0.12, 14.68, 2.42),
    "100": (1.202, 0.20, 14.68, 2.07),
    "500": (1.182, 0.15, 15.782, 2.84),
    "1500": (1.542, 0.30, 14.60, 1.92),
    "3000": (1.824, 0.23, 16.624, 4.20),
    "4500": (2.322, 0.35, 17.366, 4.24),
    "5000": (2.404, 0.37, 17.024, 30.23),
    "10000": (3.526, 0.42, 18.826, 2.52),
    "15000": (4.508, 0.42, 24.714, 170.35),
    "20000": (13.78, 326.2, 27.478, 95.2),
}
# The same, Figure 7: average and variance by number of elements, n = 50.
FIGURE_7 = {
    "1": (26.398, 35.0),
    "2": (24.514, 8.1),
    "4": (24.756, 28.4),
    "5": (24.234, 4.0),
    "8": (25.196, 37.1),
    "10": (27.80, 123.6),
    "20": (28.582, 88.1),
}


def with_moments(count, mean, variance):
    """Observations with exactly this mean and sample variance."""
    z = np.linspace(-1, 1, count)
    return (mean + (z - z.mean()) / z.std(ddof=1) * variance**0.5).tolist()


def observe(groups, factors):
    values = [value for group in groups.values() for value in group]
    levels = [
        level if isinstance(level, tuple) else (level,)
        for level, group in groups.items()
        for _ in group
    ]
    return Observations(np.array(values), tuple(zip(*levels, strict=True)), factors)


def test_one_factor_is_as_in_r():
    table = anova(observe(PLANTS, ("group",)))
    assert [row.source for row in table] == ["group", "Within", "Total"]
    assert (table[0].ss, table[1].ss) == pytest.approx((3.76634, 10.49209), abs=1e-5)
    assert table[0].f == pytest.approx(4.8461, abs=1e-4)
    assert table[0].p_value == pytest.approx(0.01591, abs=1e-5)
    assert [row.df for row in table] == [2, 27, 29]


def test_two_factors_are_as_in_r():
    table = anova(observe(TEETH, ("supp", "dose")))
    assert [row.source for row in table] == ["supp", "dose", "Interaction", "Within", "Total"]
    assert [row.ss for row in table[:4]] == pytest.approx([205.4, 2426.4, 108.3, 712.1], abs=0.051)
    assert [row.f for row in table[:3]] == pytest.approx([15.572, 92.000, 4.107], abs=5e-4)
    assert sum(row.share for row in table[:4]) == pytest.approx(1)


def in_blocks(groups, factors):
    """Observations whose place in their group is their block."""
    plain = observe(groups, factors)
    blocks = tuple(str(place) for group in groups.values() for place, _ in enumerate(group))
    return Observations(plain.response, plain.levels, factors, blocks, "resin")


def test_blocks_are_as_in_montgomery():
    table = anova(in_blocks(GRAFTS, ("pressure",)))
    assert [row.source for row in table] == ["pressure", "resin", "Within", "Total"]
    assert [row.ss for row in table] == pytest.approx([178.17, 192.25, 109.89, 480.31], abs=0.006)
    assert [row.df for row in table] == [3, 5, 15, 23]
    assert (table[0].f, table[0].p_value) == pytest.approx((8.11, 0.0019), abs=0.005)


def test_two_factors_and_blocks_add_up_to_the_total():
    table = anova(in_blocks(TEETH, ("supp", "dose")))
    names = ["supp", "dose", "Interaction", "resin", "Within", "Total"]
    assert [row.source for row in table] == names
    assert [row.df for row in table] == [1, 2, 2, 9, 45, 59]
    assert sum(row.share for row in table[:-1]) == pytest.approx(1)


@pytest.mark.parametrize(("effect", "least", "most"), [(0, 0.01, 0.10), (1.2, 0.7, 0.95)])
def test_blocks_in_the_model_find_what_they_would_hide(effect, least, most):
    """Blocks as large as forks: 5 % false alarms, and far more power than the plain table."""
    rng = np.random.default_rng(7)
    cells = np.repeat([0.0, 0.0, effect], 10)
    found = {"blocks": 0, "plain": 0}
    levels, blocks = tuple(map(str, np.repeat([1, 2, 3], 10))), tuple(map(str, [*range(10)] * 3))
    for _ in range(150):
        values = cells + np.tile(rng.normal(0, 1, 10), 3) + rng.normal(0, 0.9, 30)
        found["blocks"] += (
            anova(Observations(values, (levels,), ("cell",), blocks))[0].p_value < 0.05
        )
        found["plain"] += anova(Observations(values, (levels,), ("cell",)))[0].p_value < 0.05
    assert least < found["blocks"] / 150 < most
    assert not effect or found["plain"] < 0.7 * found["blocks"]


def test_a_level_that_lies_in_blocks_of_its_own_is_refused():
    apart = Observations(np.arange(6.0) ** 2, (tuple("aaabbb"),), ("x",), tuple("112334"))
    with pytest.raises(InputError, match="are confounded"):
        anova(apart)
    same = Observations(np.arange(4.0), (tuple("aabb"),), ("x",), tuple("1111"))
    with pytest.raises(InputError, match="give data with at least two blocks, or omit --block"):
        anova(same)


def test_the_command_prints_the_row_of_the_blocks(tmp_path, capsys):
    lines = [
        f"{pressure},{resin},{value}"
        for pressure, values in GRAFTS.items()
        for resin, value in enumerate(values)
    ]
    path = tmp_path / "grafts.csv"
    path.write_text("\n".join(["pressure,resin,yield", *lines]) + "\n")
    words = ["anova", str(path), "--response", "yield", "--factor", "pressure"]
    assert main([*words, "--block", "resin", "--json"]) == 0
    table = {row["Source"]: row for row in json.loads(capsys.readouterr().out)}
    assert table["resin"]["SS"] == pytest.approx(192.25, abs=0.006)
    assert main([*words, "--block", "pressure"]) == 2
    assert "named twice" in capsys.readouterr().err


def test_resistivity_is_as_certified_by_nist():
    table = anova(observe(RESISTIVITY, ("instrument",)))
    assert table[0].f == pytest.approx(1.18046237440255, rel=1e-12)
    assert table[0].ss == pytest.approx(5.11462616e-2, rel=1e-12)
    assert table[1].ss == pytest.approx(2.1663656e-1, rel=1e-12)
    assert table[0].share == pytest.approx(1.90999039051129e-1, rel=1e-12)
    assert [row.df for row in table] == [4, 20, 24]


def test_the_weight_of_silver_is_as_certified_by_nist():
    """Seven digits that all values share leave nine of the others."""
    groups = {name: [107.868 + v * 1e-7 for v in values] for name, values in SILVER.items()}
    table = anova(observe(groups, ("instrument",)))
    assert table[0].f == pytest.approx(15.9467335677930, rel=1e-8)
    assert (table[0].ss, table[1].ss) == pytest.approx((3.638341875e-9, 1.04951729166667e-8))
    assert [row.df for row in table] == [1, 46, 47]


@pytest.mark.parametrize(
    ("offset", "count", "certified", "digits"),
    [
        *((0, 21, 21, 12), (0, 201, 201, 12), (0, 2001, 2001, 12)),
        *((1e6, 21, 21, 9), (1e6, 201, 201, 9), (1e6, 2001, 2001, 9)),
        *((1e12, 21, 21, 4), (1e12, 201, 201, 4), (1e12, 2001, 2001, 4)),
    ],
)
def test_simon_and_lesage_are_as_certified_by_nist(offset, count, certified, digits):
    """SmLs01 to SmLs09, made up so that shared digits cost precision: a double keeps 16.

    Each of nine groups has its middle once and the values a tenth beside it equally often.
    """
    middles = (1.4, 1.3, 1.5, 1.3, 1.5, 1.3, 1.5, 1.3, 1.5)
    beside = [-0.1, 0.1] * (count // 2)
    groups = {str(k): [offset + m + d for d in (0, *beside)] for k, m in enumerate(middles)}
    table = anova(observe(groups, ("group",)))
    assert table[0].f == pytest.approx(certified, rel=10.0**-digits)
    assert [row.df for row in table[:2]] == [8, 9 * (count - 1)]


def test_the_one_byte_experiment_is_recomputed():
    """Figure 3 prints F 16 719 and a share of 94.5 %; METHOD.md recomputes 16 724."""
    means = {"TCP": (522.9 / 490, 0.15), "SOAP": (7012.9 / 490, 4.99)}
    groups = {name: with_moments(490, *moments) for name, moments in means.items()}
    effect = anova(observe(groups, ("protocol",)))[0]
    assert effect.f == pytest.approx(16724, rel=1e-3)
    assert effect.share == pytest.approx(0.945, abs=0.001)
    assert effect.f_crit == pytest.approx(3.9, abs=0.06)


def test_size_and_protocol_are_recomputed():
    """Figure 6 prints F 50.1, 1708.0, 3.2; METHOD.md recomputes 50.10, 1707.88, 3.19."""
    groups = {
        (size, protocol): with_moments(50, *moments)
        for size, row in FIGURE_5.items()
        for protocol, moments in (("tcp", row[:2]), ("soap", row[2:]))
    }
    table = anova(observe(groups, ("size", "protocol")))
    assert [row.f for row in table[:3]] == pytest.approx([50.10, 1707.88, 3.19], rel=3e-3)
    assert [row.share for row in table[:2]] == pytest.approx([0.142, 0.539], abs=0.002)
    assert [row.df for row in table] == [9, 1, 9, 980, 999]


def test_elements_are_recomputed():
    """Figure 7 prints F 3.2 and 5.2 %; METHOD.md recomputes 3.16."""
    groups = {p: with_moments(50, *moments) for p, moments in FIGURE_7.items()}
    effect = anova(observe(groups, ("elements",)))[0]
    assert effect.f == pytest.approx(3.16, abs=0.01)
    assert effect.share == pytest.approx(0.052, abs=0.001)
    assert effect.f_crit == pytest.approx(2.1, abs=0.05)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_command_prints_the_table_and_json(tmp_path, capsys):
    lines = [f"{group},{value}" for group, values in PLANTS.items() for value in values]
    file = write(tmp_path / "plants.csv", "\ufeffgroup,weight\n" + "\n".join(lines) + "\n")
    assert main(["anova", file, "--response", "weight", "--factor", "group"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split()[:7] == ["Source", "SS", "df", "MS", "F", "P-value", "F"]
    assert printed[1].split()[0] == "group"
    assert main(["anova", file, "--response", "weight", "--factor", "group", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert table[0]["F"] == pytest.approx(4.8461, abs=1e-4)
    assert table[2]["F"] is None


@pytest.mark.parametrize("columns", ["60", "80"])
def test_a_narrow_terminal_cuts_nothing(tmp_path, capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    factor = "fertiliser_of_the_plants"
    lines = [f"{group},{value}" for group, values in PLANTS.items() for value in values]
    file = write(tmp_path / "plants.csv", f"{factor},weight\n" + "\n".join(lines) + "\n")
    assert main(["anova", file, "--response", "weight", "--factor", factor]) == 0
    printed = capsys.readouterr().out
    assert "4.84609" in printed
    assert "…" not in printed


def test_odd_names_of_columns_and_levels_are_plain_text(tmp_path, capsys):
    rows = '"Q(""x"")","naïve, C(b)",1\n' * 2 + 'b,"naïve, C(b)",2\n' * 2
    rows += 'b,"c~d",3\nb,"c~d",5\n"Q(""x"")",c~d,6\n"Q(""x"")",c~d,7\n'
    file = write(tmp_path / "odd.csv", '"a+b",C(x),"y:z"\n' + rows)
    arguments = [
        "anova",
        file,
        "--response",
        "y:z",
        "--factor",
        "a+b",
        "--factor",
        "C(x)",
        "--json",
    ]
    assert main(arguments) == 0
    names = [row["Source"] for row in json.loads(capsys.readouterr().out)]
    assert names == ["a+b", "C(x)", "Interaction", "Within", "Total"]


def test_spaces_after_commas_belong_to_nothing(tmp_path, capsys):
    text = 'a, "y"\n"x" , 1\n"x" ,2\nz, "4" \nz, 6\n'
    file = write(tmp_path / "a.csv", text)
    assert main(["anova", file, "--response", "y", "--factor", "a", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["F"] == pytest.approx(9.8)


def test_digits_with_an_underscore_are_a_level_of_their_own(tmp_path, capsys):
    file = write(tmp_path / "a.csv", "a,y\n1_1,1\n1_1,2\n11,4\n11,6\n")
    assert main(["anova", file, "--response", "y", "--factor", "a", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["df"] == 1


@pytest.mark.parametrize(
    ("text", "extra", "part"),
    [
        ("a,b,y\n", [], "holds no row"),
        ("a,b\nx,1\n", [], "has no column 'y'; its columns, between commas, are a, b"),
        ("a;y\nx;1\n", [], "between commas, are a;y"),
        ("", [], "are (none)"),
        ("a,a,y\nx,u,1\n", [], "has the column 'a' twice"),
        ("a,y\nx,1,5\nz,2,5\n", [], "line 2: has more columns than the header"),
        ("a,y\n1,1\n1.0,2\n2,3\n", [], "levels '1' and '1.0', which are one number"),
        ("a,y\nx w,1\nx  w,2\nz,3\n", [], "levels 'x w' and 'x  w', which look like one"),
        ("a,y\n\u00e9,1\ne\u0301,2\nz,3\n", [], "which look like one; spell it one way"),
        ("a,y\nx,1\nx\u200b,2\nz,3\n", [], "which look like one; spell it one way"),
        ("a,a ,y\nx,u,1\n", [], "has the column 'a' twice"),
        (
            "a,b,y\nx,1,1\nz,1.0,2\nx,2,3\nz,2,4\n",
            ["--block", "b"],
            "block 'b' has the levels '1' and '1.0', which are one number",
        ),
        ("a,y\nx,1\nx,1\nz,2\nz,2\n", [], "F needs variance within cells"),
        ("a,b,y\nx,u,1\nx,u,slow\n", [], "line 3: y is 'slow', not a number"),
        ("a,b,y\nx,u,1\nz,u,nan\n", [], "line 3: y is 'nan'"),
        ("a,b,y\nx,u,1\nz,u,1_1\n", [], "line 3: y is '1_1', not a number"),
        ("a,b,y\nx,u,1\n,u,2\n", [], "line 3: a is empty"),
        ("a,b,y\nx,u,1\nz\n", [], "line 3: y is None"),
        ("a,b,y\nx,u,1\nx,u,2\n", [], "factor 'a' has one level, 'x'"),
        ("a,b,y\nx,u,1\nz,u,2\n", [], "every level has one observation"),
        ("a,b,y\nx,u,1\nx,u,1\nz,u,1\n", [], "all observations are equal"),
        ("a,y\nx,1e300\nx,2e300\nz,1e300\nz,3e300\n", [], "are too large or too small"),
        ("a,y\nx,1e-200\nx,2e-200\nz,1e-200\nz,3e-200\n", [], "are too large or too small"),
        ("a,b,y\nx,u,1\nx,u,2\nz,v,1\n", ["--factor", "b"], "2 of 4 combinations"),
        ("a,b,y\nx,u,1\nx,v,2\nz,u,1\nz,v,1\n", ["--factor", "b"], "x, u has one observation"),
        ('a,y,c\nx,1,\nx,2,"s\nx,3,\nz,4,"s\n', [], "line 3 cannot be read (',' expected"),
        ('a,y\nx,1\nz,2\n"z,3\n', [], "line 4 cannot be read (unexpected end of data); close"),
        ('a,"y\nx,1\nz,2\n', [], "line 1 cannot be read (unexpected end of data)"),
        (
            'a, "whole_plot", block, y\nx,s,0,3\nx,s,0,4\nz,t,0,7\nz,t,0,6\n',
            [],
            "a differs only between whole plots (column whole_plot)",
        ),
        ("a,b,y\nx,u,1\n", ["--factor", "a"], "each column once"),
        ("a,b,y\nx,u,1\n", ["--factor", "b", "--factor", "c"], "one or two factors"),
    ],
)
def test_bad_input_is_one_message(tmp_path, capsys, text, extra, part):
    file = write(tmp_path / "bad.csv", text)
    assert main(["anova", file, "--response", "y", "--factor", "a", *extra]) == 2
    captured = capsys.readouterr()
    assert part in captured.err
    assert captured.out == ""


def test_a_pipe_is_read_once_and_its_plots_are_checked(capsys):
    reading, writing = os.pipe()
    os.write(writing, b"a,whole_plot,y\nx,s,3\nx,s,4\nz,t,7\nz,t,6\n")
    os.close(writing)
    try:
        assert main(["anova", f"/dev/fd/{reading}", "--response", "y", "--factor", "a"]) == 2
    finally:
        os.close(reading)
    assert "a differs only between whole plots" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_one_message(capsys):
    assert main(["anova", "nowhere.csv", "--response", "y", "--factor", "a"]) == 2
    assert "nowhere.csv" in capsys.readouterr().err


def table_of(path, *options):
    """The rows that the command prints as JSON."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["anova", str(path), "--json", *options]) == 0
    return json.loads(out.getvalue())


def test_blanks_around_names_and_levels_belong_to_nothing(tmp_path):
    plain = write(tmp_path / "a.csv", "f,b,y\na,1,1\na,2,2\na,3,4\nb,1,2\nb,2,4\nb,3,5\n")
    loose = write(
        tmp_path / "b.csv",
        'f ,b,y \na,1,1\na,2,2 \n"a ",3,4\nb,1 ,2\nb\u00a0,2,4\nb ,3 ,5\n',
    )
    options = ("--response", "y", "--factor", "f", "--block", "b")
    assert table_of(plain, *options) == table_of(loose, *options)
    spaced = ("--response", " y", "--factor", "f ", "--block", " b ")
    assert table_of(plain, *options) == table_of(loose, *spaced)


def test_a_long_field_is_read(tmp_path):
    text = 'f,y,note\na,1,x\na,2,"' + "x\n" * 70_000 + '"\nb,3,x\nb,5,x\n'
    file = write(tmp_path / "a.csv", text)
    assert table_of(file, "--response", "y", "--factor", "f")[0]["F"] == pytest.approx(5)


@pytest.mark.parametrize(
    ("first", "second", "block"),
    [
        ("Within", "Total", "Interaction"),
        ("Total", "Within", "Block"),
        ("Interaction", "Block", "Total"),
        ("Block", "Interaction", "Within"),
        ("Whole-plot error", "Within (no column)", "Within"),
        ("Residual", "Source", "C(block)"),
        ("block", "f0", "y"),
    ],
)
@pytest.mark.parametrize("extra", [[], ["--block"], ["--block", "first"], ["--block", "both"]])
def test_names_of_columns_never_meet_names_of_ours(tmp_path, first, second, block, extra):
    """The table is that of the same data with other names, and no two rows have one name."""
    rng = np.random.default_rng(5)
    rows = [
        f"{a},{b},{c},{a + b * a + rng.normal():.6f}"
        for a in range(2)
        for b in range(3)
        for c in range(4)
        for _ in range(2)
    ]
    tables = []
    for names in ((first, second, block), ("one", "other", "night")):
        file = write(tmp_path / "a.csv", "\n".join([",".join([*names, "response"]), *rows]))
        options = ["--response", "response", "--factor", names[0], "--factor", names[1]]
        if extra:
            options += ["--block", names[2]]
        for whole in {"first": names[:1], "both": names[:2]}.get("".join(extra[1:]), ()):
            options += ["--whole-plot", whole]
        tables.append(table_of(file, *options))
        assert main(["anova", file, *options]) == 0
    odd, plain = tables
    numbers = [[list(row.values())[1:8] for row in table] for table in tables]
    assert numbers[0] == numbers[1]
    assert len({row["Source"] for row in odd}) == len(odd)
    renamed = dict(zip(("one", "other", "night"), (first, second, block), strict=True))
    for mine, usual in zip(odd, plain, strict=True):
        expected = renamed.get(usual["Source"], usual["Source"])
        assert (
            mine["Source"]
            .removesuffix(" (no column)")
            .startswith(expected.removesuffix(" (no column)"))
        )


def test_each_difference_has_its_own_error_whatever_the_names(tmp_path, capsys):
    """Of columns named as ours, `--whole-plot` prints the differences of plainly named ones."""
    rng = np.random.default_rng(6)
    rows = [
        f"{a},{b},{c},{a + rng.normal():.6f}" for a in range(2) for b in range(2) for c in range(4)
    ]
    printed = []
    for names in (("Within", "Whole-plot error", "Total"), ("f", "g", "night")):
        file = write(tmp_path / "a.csv", "\n".join([",".join([*names, "y"]), *rows]))
        options = ["--factor", names[0], "--factor", names[1], "--block", names[2]]
        capsys.readouterr()
        assert main(["anova", file, "--response", "y", *options, "--whole-plot", names[0]]) == 0
        differences = capsys.readouterr().out.partition("Levels")[2].splitlines()[1:]
        printed.append([line.partition(" - ")[2].split() for line in differences])
    assert printed[0] == printed[1]
    assert len(printed[0]) == 2
