import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_studies import changed, study_of
from open_loops import load_study
from synthetic import make_run, reseal, seal, sort_times

from collect.cells.analysis import analyse
from collect.cells.notation import show_estimate
from collect.cli import main
from collect.errors import InputError
from collect.report.compare.budget import read_budget
from collect.report.compare.contrast import contrast
from collect.report.compare.environment import find_differences
from collect.report.compare.ratios import CellVerdict, Comparison, SideCell
from collect.report.provenance import facts_of
from collect.run.cell import Cell
from collect.run.directory import open_run
from collect.stats.estimates import Estimate
from collect.stats.groups import holm

# R's sleep (Student 1908): extra hours of sleep by drug, ten patients each.
DRUG_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
DRUG_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def slower(factor, where=lambda factors: True):
    """Times of the sort study, `factor` times as long in the cells that `where` chooses."""

    def times(planned, rng):
        scale = factor if where(planned.factors) else 1
        return [scale * time for time in sort_times(planned, rng)]

    return times


def is_soap(factors):
    return factors["transport"] == "soap"


@pytest.fixture
def compared(capsys):
    """Return a function that compares runs and returns the exit code and the JSON."""

    def compare(*runs, options=()):
        code = main(["compare", *(str(run.directory) for run in runs), "--json", *options])
        return code, json.loads(capsys.readouterr().out)

    return compare


def verdicts(result, where=lambda factors: True):
    return {cell["verdict"] for cell in result["cells"] if where(cell["factors"])}


def test_the_contrast_is_that_of_r_on_the_sleep_data():
    """R: t.test(extra ~ group, sleep) gives t -1.8608, p 0.07939, -3.3654832 to 0.2054832."""
    found = contrast([np.exp(DRUG_2)], [np.exp(DRUG_1)])
    assert found.unit == "trials"
    assert found.p_value == pytest.approx(0.07939, abs=5e-6)
    ends = np.log([found.ratio.low, found.ratio.value, found.ratio.high])
    assert ends == pytest.approx([-3.3654832, -1.58, 0.2054832], abs=1e-6)


def test_the_contrast_of_several_runs_is_student_s():
    """R: t.test(extra ~ group, sleep, var.equal = TRUE): p 0.07919, -3.363874 to 0.203874."""
    found = contrast(*([[value] for value in np.exp(drug)] for drug in (DRUG_2, DRUG_1)))
    assert found.unit == "runs"
    assert found.p_value == pytest.approx(0.07919, abs=5e-6)
    assert np.log([found.ratio.low, found.ratio.high]) == pytest.approx(
        [-3.363874, 0.203874], abs=1e-6
    )


@pytest.mark.parametrize(
    ("before", "after", "noise", "least"),
    [
        ([5, 5, 5], [5, 5, 5], [], 0.035),
        ([5], [5], [5, 5, 5, 5], 0.035),
        ([5, 5, 5, 5], [5], [], 0.035),
        ([3], [3], [10, 10, 10, 10], 0.005),
    ],
)
def test_nights_of_one_thing_are_told_apart_in_one_of_twenty_pairs(before, after, noise, least):
    """Runs vary as much as forks; a number is that of a run's trials.

    Runs of fewer trials than those that show the spread are on the safe side.
    """
    rng = np.random.default_rng(19)
    sides = (before, after, noise)

    def run(trials):
        return np.exp(rng.normal(0, 0.05) + rng.normal(0, 0.05, trials))

    found = [contrast(*([run(n) for n in side] for side in sides)) for _ in range(1500)]
    assert {one.unit for one in found} == {"runs"}
    assert least < np.mean([one.p_value < 0.05 for one in found]) < 0.065
    assert np.mean([one.ratio.low < 1 < one.ratio.high for one in found]) > 0.935


def test_two_runs_alone_have_no_verdict_since_trials_would_say_too_much(run_of, capsys):
    rng = np.random.default_rng(19)
    nights = rng.normal(0, 0.05, (1000, 2, 1)) + rng.normal(0, 0.05, (1000, 2, 5))
    found = [contrast([a], [b]) for a, b in np.exp(nights)]
    assert {one.unit for one in found} == {"trials"}
    assert np.mean([one.p_value < 0.05 for one in found]) > 0.25
    runs = [str(run_of(slower(level), name=name).directory) for name, level in (("a", 1), ("b", 3))]
    assert main(["compare", *runs]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "cannot separate systems from nights" in printed
    assert "12 cells, 12 no verdict" in printed


@pytest.mark.parametrize("columns", ["60", "80"])
def test_a_narrow_terminal_cuts_nothing(run_of, capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    nights = {"monday": 1, "tuesday": 2}
    runs = [str(run_of(slower(level), name=name).directory) for name, level in nights.items()]
    assert main(["compare", *runs]) == 0
    printed = capsys.readouterr().out
    assert "tuesday, ms" in printed
    assert "…" not in printed


def test_two_runs_that_may_stop_early_are_corrected_and_several_are_not(run_of, capsys):
    rng = np.random.default_rng(23)
    nights = [rng.lognormal(0, 0.05, 5) for _ in range(4)]
    fixed, corrected = (
        contrast(nights[:1], nights[1:2], budget=1.2, error=error) for error in (0.05, 0.01)
    )
    assert corrected.ratio.low < fixed.ratio.low
    assert corrected.p_budget == pytest.approx(min(1, 5 * fixed.p_budget))
    assert contrast(nights[:2], nights[2:], error=0.01) == contrast(nights[:2], nights[2:])
    rule = {"half_width": 0.05, "looks": [2, 3]}
    study = changed(replicates=3, calls=3, warmup=1, stop=rule)
    runs = [
        str(run_of(name=name, study=text, profile="paper").directory)
        for name, text in (("a", study), ("b", changed(replicates=3, calls=3, warmup=1)))
    ]
    assert main(["compare", *runs]) == 0
    assert "each interval is corrected for them" in " ".join(capsys.readouterr().out.split())


def test_open_loops_are_compared_by_their_response_times(tmp_path, capsys):
    def run(name, each_ms):
        def times(planned, rng):
            return list(each_ms * rng.normal(1, 0.01, planned.measured_rows))

        directory = tmp_path / f"{name}/results/{name}"
        make_run(directory, times, study=load_study(rates=(400,)))
        return str(directory)

    # At 400/s in one thread calls of 3 ms wait for each other, and calls of 2 ms do not.
    before, after = run("before", 2.0), run("after", 3.0)
    assert main(["compare", before, after, "--budget", "2"]) == 1
    assert "Times of an open loop are response times." in " ".join(capsys.readouterr().out.split())


def test_holm_is_that_of_r():
    """R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") gives 0.03 0.06 0.06 0.02."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(
    before=st.lists(st.floats(1e-3, 1e6), min_size=2, max_size=8),
    after=st.lists(st.floats(1e-3, 1e6), min_size=2, max_size=8),
)
@settings(derandomize=True, max_examples=100)
def test_a_ratio_lies_in_its_interval_and_turns_round_with_the_runs(before, after):
    there, back = contrast([before], [after]), contrast([after], [before])
    if isinstance(there, str):
        assert isinstance(back, str)
        return
    assert there.ratio.low <= there.ratio.value * (1 + 1e-9)
    assert there.ratio.value <= there.ratio.high * (1 + 1e-9)
    assert there.ratio.value == pytest.approx(1 / back.ratio.value)
    assert there.p_value == pytest.approx(back.p_value, abs=1e-9)


@pytest.mark.parametrize(
    ("before", "after", "part"),
    [
        ([1.0], [1.0, 2.0], "one trial in the first run"),
        ([1.0, 2.0], [1.0], "one trial in the other run"),
        ([0.0, 1.0], [1.0, 2.0], "a run has a mean of 0 ms"),
        ([1.0, 1.0], [2.0, 2.0], "all equal"),
    ],
)
def test_where_nothing_can_be_said_the_reason_is(before, after, part):
    assert part in contrast([before], [after])


def test_the_mean_of_a_side_is_of_all_its_runs_though_one_is_zero():
    results = tuple(
        SimpleNamespace(outcome="ok", mean=Estimate(mean_ms)) for mean_ms in (4.0, 0.0, 2.0)
    )
    assert SideCell(results, error=0.05).mean_ms == 2


def test_runs_that_are_all_equal_say_nothing_of_the_next():
    assert "all equal" in contrast([[1.0, 2.0], [1.0, 2.0]], [[3.0, 4.0]])


def test_a_run_without_variance_against_one_with_some_has_an_interval():
    found = contrast([[2.0, 2.0, 2.0]], [[3.9, 4.0, 4.1]])
    assert found.ratio.low < 2 < found.ratio.high
    assert found.p_value < 0.01


@pytest.fixture
def changed_nights(run_of):
    def times(level):
        return lambda planned, rng: [
            level * time * (2 if is_soap(planned.factors) else 1)
            for time in sort_times(planned, rng)
        ]

    return [run_of(times(level), name=name) for name, level in (("x", 1), ("y", 1.01))]


@pytest.fixture
def like_nights(run_of):
    levels = {"a": 1, "b": 1.02, "c": 0.99, "d": 1.01}
    return [run_of(slower(level), name=name) for name, level in levels.items()]


@pytest.mark.parametrize("form", ["several", "noise", "one against several"])
def test_what_got_slower_is_found_and_what_did_not_is_not(
    like_nights, changed_nights, compared, form
):
    (a, b, *more), (x, y) = like_nights, changed_nights
    like = [str(run.directory) for run in (a, b, *more)]
    runs, options = {
        "several": ([x, y], ["--against", *like[:2]]),
        "noise": ([a, x], ["--noise", *like[1:]]),
        "one against several": ([x], ["--against", *like]),
    }[form]
    code, result = compared(*runs, options=options)
    assert (code, result["unit"]) == (0, "runs")
    assert len(result["cells"]) == 12
    assert verdicts(result, is_soap) == {"slower"}
    assert verdicts(result, lambda factors: not is_soap(factors)) == {"cannot be told"}
    for cell in result["cells"]:
        assert cell["low"] < (2 if is_soap(cell["factors"]) else 1) < cell["high"]


def test_sides_turn_round(like_nights, changed_nights, compared):
    options = ["--against", *(str(run.directory) for run in changed_nights)]
    _, result = compared(*like_nights, options=options)
    assert verdicts(result, is_soap) == {"faster"}
    assert result["against"] == ["x", "y"]


@pytest.mark.parametrize(
    ("options", "part"),
    [(["--noise", "B"], "alone does not show"), ([], "nothing is compared with")],
)
def test_runs_that_are_too_few_are_one_message(like_nights, capsys, options, part):
    a, b, *_ = (str(run.directory) for run in like_nights)
    runs = [a, str(like_nights[2].directory)] if options else [a]
    assert main(["compare", *runs, *(b if word == "B" else word for word in options)]) == 2
    assert part in capsys.readouterr().err


def test_a_cell_without_a_second_run_has_no_verdict(like_nights, run_of, compared):
    a, b, *_ = like_nights
    profiles = {"demo": {"replicates": 3, "factors": {"integers": [5000]}}}
    noise = [run_of(slower(k), name=f"n{k}", study=changed(profiles=profiles)) for k in (1, 2)]
    _, result = compared(a, b, options=["--noise", *(str(run.directory) for run in noise)])
    assert verdicts(result, lambda factors: factors["integers"] == 500) == {"no verdict"}
    assert verdicts(result, lambda factors: factors["integers"] == 5000) == {"cannot be told"}
    reasons = {c["reason"] for c in result["cells"] if c["verdict"] == "no verdict"}
    assert reasons == {"no two repeated runs have this cell"}


def test_over_budget_by_cells_that_no_run_repeats_is_said_of_these_runs(run_of, capsys):
    profiles = {"demo": {"replicates": 3, "factors": {"integers": [5000]}}}
    noise = [run_of(slower(k), name=f"n{k}", study=changed(profiles=profiles)) for k in (1, 2)]
    pair = [run_of(name="a"), run_of(slower(2), name="b")]
    words = [str(run.directory) for run in pair] + ["--noise"]
    words += [*(str(run.directory) for run in noise), "--budget", "1.1"]
    assert main(["compare", *words]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "over budget in these runs" in text
    assert "one run on each side cannot separate" in text


def test_a_cell_that_fails_in_one_run_of_a_side_fails_now(like_nights, run_of, compared):
    broken = run_of(lambda planned, rng: "oom" if is_soap(planned.factors) else [1.0], name="z")
    against = ["--against", *(str(run.directory) for run in like_nights[:2])]
    code, result = compared(like_nights[2], broken, options=[*against, "--budget", "100"])
    assert (code, result["over_budget"]) == (1, 6)
    assert verdicts(result, is_soap) == {"fails now"}


def test_a_cell_that_no_run_of_a_side_has_fails_now_though_one_of_the_reference_failed(
    run_of, compared
):
    def broken(planned, rng):
        return "oom" if is_soap(planned.factors) else sort_times(planned, rng)

    old = [run_of(name="a"), run_of(name="b"), run_of(broken, name="c")]
    new = [run_of(broken, name=name) for name in ("x", "y")]
    against = ["--against", *(str(run.directory) for run in old)]
    code, result = compared(*new, options=[*against, "--budget", "100"])
    assert (code, result["over_budget"]) == (1, 6)
    assert verdicts(result, is_soap) == {"fails now"}
    code, result = compared(run_of(name="z"), new[0], options=[*against, "--budget", "100"])
    assert (code, verdicts(result, is_soap)) == (0, {"cannot be told"})


@pytest.mark.parametrize(("budget", "code"), [("1.10", 1), ("3", 0), ("1.95", 0)])
def test_a_budget_is_exceeded_only_beyond_doubt(run_of, compared, budget, code):
    runs = run_of(name="a"), run_of(slower(2, is_soap), name="b")
    ended, result = compared(*runs, options=["--budget", budget])
    assert ended == code
    assert result["over_budget"] == (6 if code else 0)
    assert all(is_soap(cell["factors"]) for cell in result["cells"] if cell["is_over_budget"])


@pytest.mark.parametrize(
    ("verdict", "budget", "is_over", "text"),
    [
        (CellVerdict.UNTOLD, None, False, "1.05 [1.00, 1.10]"),
        (CellVerdict.SLOWER, None, False, "1.05 [1.0004, 1.10]"),
        (CellVerdict.SLOWER, 1.05, False, "1.05 [1.0004, 1.10]"),
        (CellVerdict.NONE, 1.05, True, "1.0502 [1.00, 1.10]"),
    ],
)
def test_a_ratio_has_the_digits_that_tell_it_from_what_it_passes(verdict, budget, is_over, text):
    side, ratio = SideCell((), 0.05), Estimate(1.0502, 1.0004, 1.1, 10)
    found = Comparison("after", Cell.of(servers=1), side, side, verdict, "", ratio)
    told = replace(found, budget=budget, is_over=is_over)
    assert show_estimate(ratio, told.show) == text


def test_a_budget_file_gives_each_cell_its_own(run_of, compared, tmp_path):
    runs = run_of(name="a"), run_of(slower(2, is_soap), name="b")
    path = tmp_path / "budget.yml"
    path.write_text(
        "budget: 1.1\nwhere:\n- cells: {transport: soap}\n  budget: 9\n"
        "- cells: {transport: soap, servers: [1, 3], integers: 500}\n  budget: 1.2\n"
    )
    code, result = compared(*runs, options=["--budget", str(path)])
    assert (code, result["over_budget"]) == (1, 2)
    over = [cell["factors"] for cell in result["cells"] if cell["is_over_budget"]]
    assert {(f["transport"], f["integers"]) for f in over} == {("soap", 500)}


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("budget: -1\n", "budget: -1 is less than or equal to the minimum"),
        ("budget: .nan\n", "holds nan, which is not a ratio; give numbers such as 1.10"),
        ("where: [{cells: {transport: soap}, budget: .inf}]\n", "holds inf, which is not a ratio"),
        ("budgets: 1\n", "'budgets' was unexpected"),
        ("{}\n", "the file"),
        ("where: [{cells: {transport: soap}}]\n", "'budget' is a required property"),
        ("[", "cannot be used"),
        ("budget: '\x00'\n", "cannot be used"),
    ],
)
def test_a_budget_file_that_is_wrong_is_one_message(tmp_path, content, part):
    path = tmp_path / "budget.yml"
    path.write_text(content)
    with pytest.raises(InputError, match="budget") as caught:
        read_budget(str(path))
    assert part in str(caught.value)


@pytest.mark.parametrize("budget", ["0", "-1", "nan", "inf", "nowhere.yml"])
def test_a_budget_that_is_no_ratio_is_one_message(run_of, capsys, budget):
    run = str(run_of(until=1).directory)
    assert main(["compare", run, run, f"--budget={budget}"]) == 2
    assert "budget" in capsys.readouterr().err


@pytest.mark.parametrize("cells", ["{transports: soap}", "{transport: corba}"])
def test_a_budget_of_no_cell_guards_nothing_and_is_refused(run_of, capsys, tmp_path, cells):
    runs = [str(run_of(name=name).directory) for name in "ab"]
    path = tmp_path / "budget.yml"
    path.write_text(f"where: [{{cells: {cells}, budget: 1}}]")
    assert main(["compare", *runs, "--budget", str(path)]) == 2
    assert "the budget names" in capsys.readouterr().err


def test_a_cell_that_fails_now_is_over_any_budget(run_of, compared):
    def times(planned, rng):
        return "oom" if is_soap(planned.factors) else sort_times(planned, rng)

    runs = run_of(name="a"), run_of(times, name="b")
    code, result = compared(*runs, options=["--budget", "100"])
    assert (code, result["over_budget"]) == (1, 6)
    assert verdicts(result, is_soap) == {"fails now"}
    code, result = compared(*reversed(runs), options=["--budget", "100"])
    assert (code, verdicts(result, is_soap)) == (0, {"runs now"})


def test_an_open_run_has_cells_that_cannot_be_told(run_of, compared):
    code, result = compared(run_of(name="a"), run_of(name="b", until=3), options=["--budget", "1"])
    assert code == 0
    assert verdicts(result) == {"cannot be told"}
    assert {cell["reason"] for cell in result["cells"]} == {
        "ok in a, not run in b",
        "one trial in the other run; at least two are needed to estimate a variance",
    }


def test_cells_of_one_run_only_are_named(run_of, compared):
    other = changed(profiles={"demo": {"replicates": 2, "factors": {"integers": [500, 1000]}}})
    _, result = compared(run_of(name="a"), run_of(name="b", study=other))
    shared = {cell["factors"]["integers"] for cell in result["cells"]}
    assert shared == {500}
    named = {
        (absence["only_in"], absence["factors"]["integers"]) for absence in result["only_in_one"]
    }
    assert named == {("a", 5000), ("b", 1000)}


def test_a_cell_with_a_budget_that_the_new_run_lacks_is_counted_as_not_checked(run_of, compared):
    fewer = changed(profiles={"demo": {"replicates": 2, "factors": {"integers": [500, 1000]}}})
    runs = run_of(name="a"), run_of(name="b", study=fewer)
    code, result = compared(*runs, options=["--budget", "1.5"])
    gone = [one for one in result["only_in_one"] if one["only_in"] == "a"]
    assert (code, len(gone), {one["budget"] for one in gone}) == (0, 6, {1.5})
    assert result["summary"][-1] == "not checked against a budget: 6 cells; 6 of them only in a"
    assert {one["budget"] for one in result["only_in_one"] if one["only_in"] == "b"} == {None}


def test_runs_of_other_factors_cannot_be_compared(run_of, capsys):
    runs = (
        run_of(name="a"),
        run_of(
            name="b",
            until=0,
            study=study_of(
                {"size": [1]},
                threads=1,
                where=[],
                profiles={"demo": {"replicates": 2}},
            ),
        ),
    )
    assert main(["compare", *(str(run.directory) for run in runs)]) == 2
    assert "compare runs of the same factors" in capsys.readouterr().err


def test_what_failed_is_told_beside_the_ratio(run_of, compared):
    runs = run_of(name="a"), run_of(name="b", until=35)
    trial = runs[1].trials_directory / runs[1].plan[0].id
    reseal(trial, lambda text: text.replace("measure", "Measure", 1).replace(",ok\n", ",error\n"))
    reseal(trial, lambda text: text.replace("Measure", "measure"))
    last = runs[1].plan[35]
    seal(runs[1].trials_directory, last, [], outcome="timeout")
    _, result = compared(*runs)
    reasons = {json.dumps(cell["factors"]): cell["reason"] for cell in result["cells"]}
    calls, trials = (reasons[json.dumps(dict(t.factors))] for t in (runs[1].plan[0], last))
    assert "calls that failed: 0 of 24 in a, 8 of 24 in b" in calls
    assert "trials that did not end well: 0 of 3 in a, 1 of 3 in b" in trials


def test_failed_trials_are_counted_also_where_too_few_are_left_for_a_ratio(run_of, compared):
    def times(planned, rng):
        is_broken = is_soap(planned.factors) and planned.block > 1
        return "oom" if is_broken else sort_times(planned, rng)

    _, result = compared(run_of(name="a"), run_of(times, name="b"))
    (reason,) = {cell["reason"] for cell in result["cells"] if is_soap(cell["factors"])}
    assert "one trial in the other run" in reason
    assert "trials that did not end well: 0 of 3 in a, 2 of 3 in b" in reason


def test_what_differs_in_the_environment_is_listed(run_of):
    runs = run_of(name="a"), run_of(name="b", profile="paper", until=3)
    path = runs[1].directory / "run.json"
    record = json.loads(path.read_text())
    record["versions"]["openmq"] = "6.8.0"
    record["lab"]["link_mbit"] = 1000
    record["nodes"][0]["kernel"] = "6.13"
    for node in record["nodes"]:
        node["jdk"] = "25"
    path.write_text(json.dumps(record))
    analyses = [analyse(open_run(str(run.directory))) for run in runs]
    found = {row.subject: row.values for row in find_differences(analyses)}
    assert found["versions: openmq"] == ("6.7.0", "6.8.0")
    assert found["lab: link_mbit"] == ("100", "1000")
    assert found["nodes: jdk"] == ("21", "25")
    assert found["nodes: kernel"][1].startswith("client 6.13, broker 6.12.0")
    assert found["plan: profile"] == ("demo", "paper")
    assert not {"run", "started_at", "nodes: os", "nodes: address"} & found.keys()


def test_a_file_of_an_archive_is_the_same_file_in_each_version_of_it(run_of):
    runs = run_of(name="a"), run_of(name="b")
    for run, version in zip(runs, ("1" * 12, "b" * 12), strict=True):
        directory = f"/opt/rackbench/clients-{version}"
        path = run.directory / "run.json"
        record = json.loads(path.read_text())
        for node in record["nodes"]:
            node["files"] = {f"{directory}/x.jar": "1", f"{directory}/y.jar": version}
        path.write_text(json.dumps(record))
    rows = find_differences([analyse(open_run(str(run.directory))) for run in runs])
    files = {row.subject: row.values for row in rows if "clients" in row.subject}
    assert files == {"nodes: files: /opt/rackbench/clients/y.jar": ("1" * 12, "b" * 12)}


def test_what_differs_in_the_plans_is_listed(run_of):
    stop = {"half_width": 0.05, "looks": [2, 3]}
    text = {"replicates": 3, "calls": 3, "warmup": 1}
    studies = changed(**text, restart="none"), changed(**text, restart="block", stop=stop)
    analyses = [
        analyse(run_of(name=name, study=study, profile="paper"))
        for name, study in zip("ab", studies, strict=True)
    ]
    found = {row.subject: row.values for row in find_differences(analyses)}
    assert found["plan: restart"] == ("none", "block")
    assert found["plan: stop"] == ("none", "±5 % in every cell, analysed after 2, 3 blocks")
    assert not {"plan: arrival", "plan: least_ok", "plan: drawing"} & found.keys()


def test_response_times_are_not_divided_by_service_times(tmp_path, capsys):
    def times(planned, rng):
        return list(rng.normal(2, 0.1, planned.measured_rows))

    runs = []
    for name, arrival in (("closed", "none"), ("open", {"rate": 50, "spacing": "even"})):
        study = changed(replicates=3, calls=20, warmup=1, threads=1, arrival=arrival)
        make_run(tmp_path / "results" / name, times, study=study, profile="paper")
        runs.append(str(tmp_path / "results" / name))
    assert main(["compare", *runs, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert verdicts(result) == {"cannot be told"}
    (reason,) = {cell["reason"] for cell in result["cells"]}
    assert "an open loop in one run, a closed one in another" in reason
    assert {row["subject"]: row["values"] for row in result["differences"]}["plan: arrival"] == {
        "closed": "none",
        "open": "50/s, even",
    }


def test_what_services_ran_with_is_shown_and_compared(run_of):
    runs = run_of(name="a"), run_of(name="b")
    for run, collector in zip(runs, ("-XX:+UseParallelGC", "-XX:+UseG1GC"), strict=True):
        for number, directory in enumerate(run.directories()):
            path = directory / "trial.json"
            record = json.loads(path.read_text())
            told = {"options": ["-Xmx8m", collector], "maxThreads": "128"}
            record["settings"] = {
                f"tomcat on worker{number % 2}": told,
                "broker on broker": {"onProduce": "", "onAcknowledge": " ", "timeout": "60000"},
            }
            record["jvm"] |= {"collectors": ["PS MarkSweep", "PS Scavenge"]}
            path.write_text(json.dumps(record))
    analyses = [analyse(open_run(str(run.directory))) for run in runs]
    found = {row.subject: row.values for row in find_differences(analyses)}
    assert found["tomcat: options"] == ("-Xmx8m -XX:+UseParallelGC", "-Xmx8m -XX:+UseG1GC")
    assert "tomcat: maxThreads" not in found
    facts = {fact.name: fact.text for fact in facts_of(analyses[0])}
    assert facts["Running tomcat"] == "options -Xmx8m -XX:+UseParallelGC; maxThreads 128"
    assert facts["Running broker"] == ("onProduce (empty); onAcknowledge (empty); timeout 60000")
    assert facts["The client's JVM"] == "collectors PS MarkSweep PS Scavenge"


def test_a_missing_run_json_is_said_and_not_guessed(run_of):
    runs = run_of(name="a"), run_of(name="b")
    (runs[1].directory / "run.json").unlink()
    analyses = [analyse(open_run(str(run.directory))) for run in runs]
    found = {row.subject: row.values for row in find_differences(analyses)}
    assert found["versions: openmq"] == ("6.7.0", "not recorded")


def test_three_runs_and_the_page(run_of, tmp_path, capsys):
    study = study_of(
        {"transport": ["<b>a</b>", '[bold]b, "c"', "Grüße"], "servers": [1]},
        threads=1,
        where=[],
        profiles={"demo": {"replicates": 3}},
    )
    names = [
        str(
            run_of(
                lambda planned, rng, k=k: [k * t for t in rng.lognormal(0, 0.05, planned.calls)],
                name=f"run {k} <i>",
                study=study,
            ).directory
        )
        for k in (1, 2, 3)
    ]
    page = tmp_path / "out" / "page.html"
    assert main(["compare", *names, "-o", str(page), "--budget", "2.5"]) == 1
    printed = capsys.readouterr().out
    assert '[bold]b, "c"' in printed
    assert "run 2 <i> against run 1 <i>: 3 cells, 3 no verdict" in printed
    assert "over budget in these runs: 3 cells" in printed
    text = page.read_text()
    assert "&lt;b&gt;a&lt;/b&gt;" in text
    assert "<b>" not in text
    assert "<i>" not in text
    assert "http" not in text
    assert text.count("<svg") == 6


def test_refused_trials_are_findings_and_in_no_ratio(run_of, capsys):
    runs = run_of(name="a"), run_of(name="b")
    log = runs[1].trials_directory / runs[1].plan[0].id / "calls.csv"
    log.write_bytes(log.read_bytes()[:-3])
    assert main(["compare", *(str(run.directory) for run in runs), "--json"]) == 1
    streams = capsys.readouterr()
    assert runs[1].plan[0].id in streams.err
    assert sorted(cell["other"]["trials"] for cell in json.loads(streams.out)["cells"]) == [
        2,
        *[3] * 11,
    ]


def test_two_runs_of_one_name_are_told_apart_and_one_run_twice_is_refused(run_of, tmp_path, capsys):
    run = run_of()
    make_run(tmp_path / "elsewhere" / "night", sort_times)
    other = str(tmp_path / "elsewhere" / "night")
    assert main(["compare", str(run.directory), other]) == 0
    assert "elsewhere/night against" in capsys.readouterr().out
    third = str(run_of(name="third").directory)
    assert main(["compare", other, other, third]) == 2
    assert "the run night is given twice" in capsys.readouterr().err


def test_runs_of_one_name_in_two_archives_are_named_by_their_archives(tmp_path, capsys):
    names = []
    for place in ("a", "b"):
        make_run(tmp_path / place / "night", sort_times)
        names.append(f"{tmp_path / place}.zip")
        assert main(["archive", str(tmp_path / place / "night"), "-o", names[-1]]) == 0
    capsys.readouterr()
    assert main(["compare", *names, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == [f"{name}/night" for name in names]


def disturbed(run, load):
    """Let the load before every trial of a run have been so high."""
    for planned in run.plan:
        path = run.trials_directory / planned.id / "trial.json"
        record = json.loads(path.read_text())
        record["interference"] = {"client": {"load1": [load, load], "cores": 2}}
        path.write_text(json.dumps(record))


def test_a_comparison_says_how_disturbed_each_side_was(run_of, capsys):
    calm, loaded = (run_of(name=name) for name in ("calm", "loaded"))
    disturbed(calm, 0.5)
    disturbed(loaded, 5.0)
    assert main(["compare", str(calm.directory), str(loaded.directory)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    count = len(loaded.plan)
    assert f"loaded: a disturbance hit {count} of {count} trials (load before it over 1.5" in text
    assert "calm: a disturbance" not in text
    assert main(["compare", str(calm.directory), str(loaded.directory), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["disturbed"]
    assert said["calm"] == ""
    assert said["loaded"].startswith("loaded: a disturbance hit")


def test_over_budget_by_two_runs_alone_says_that_nights_are_not_told_from_systems(run_of, capsys):
    runs = [
        str(run_of(slower(factor), name=name).directory) for name, factor in (("a", 1), ("b", 2))
    ]
    arguments = ["compare", *runs, "--budget", "1.1"]
    assert main(arguments) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "over budget in these runs: 12 cells; one run on each side cannot separate" in text
    noise = [str(run_of(slower(1 + 0.01 * n), name=f"same{n}").directory) for n in range(8)]
    assert main([*arguments, "--noise", *noise]) == 1
    assert "cannot separate" not in " ".join(capsys.readouterr().out.split())


def test_cells_that_no_budget_could_check_are_counted(run_of, compared, capsys):
    study = changed(profiles={"demo": {"replicates": 1, "factors": {"integers": [500]}}})
    runs = [run_of(name=name, study=study) for name in "ab"]
    code, result = compared(*runs, options=["--budget", "1.1"])
    number = len(result["cells"])
    assert code == 0
    assert result["summary"][-1] == (
        f"not checked against a budget: {number} cells; the remarks say why"
    )
    assert main(["compare", *(str(run.directory) for run in runs), "--budget", "1.1"]) == 0
    assert result["summary"][-1] in " ".join(capsys.readouterr().out.split())
    assert "not checked" not in " ".join(compared(*runs)[1]["summary"])
    repeated = [run_of(name=name) for name in "cd"]
    _, checked = compared(*repeated, options=["--budget", "1.1"])
    assert checked["summary"][-1] == "over budget in these runs: no cells"


def test_two_runs_with_interim_analyses_have_corrected_intervals(compared, run_of):
    widths = []
    for name, stop in (("fixed", "none"), ("corrected", {"half_width": 0.05, "looks": [2, 5]})):
        study = changed(replicates=5, calls=3, warmup=1, stop=stop)
        runs = [
            run_of(slower(factor), name=f"{name}{n}", study=study, profile="paper")
            for n, factor in enumerate((1, 1.3))
        ]
        _, content = compared(*runs)
        widths.append([cell["high"] / cell["low"] for cell in content["cells"]])
    assert all(after > before for before, after in zip(*widths, strict=True))
