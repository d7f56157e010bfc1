"""A run of several node settings: what the report and the plan of a night say of its plots."""

import csv
import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from made_up_studies import study_of
from synthetic import edit_json, make_run

from collect.cells.analysis import analyse
from collect.cells.plots import whole_plots
from collect.cli import main
from collect.replication.replicate import replicate
from collect.report.provenance import facts_of
from collect.report.warnings import find_warnings
from collect.run.directory import open_run

FACTORS = {"link_mbit": [10, 100], "transport": ["soap", "jms"], "servers": [1, 3]}


def times(planned, rng):
    """Plots vary by 10 %, forks by 3 %, calls by 5 %; links do not differ."""
    of_plot = np.random.default_rng([planned.block, planned.factors["link_mbit"]]).normal(0, 0.1)
    level = 10 * np.exp(of_plot + rng.normal(0, 0.03))
    return (level * rng.lognormal(0, 0.05, planned.calls)).tolist()


def made(directory, blocks, factors=FACTORS, **changes):
    study = study_of(
        factors,
        node={"link_mbit": "link_mbit"},
        constants={},
        restart="none",
        profiles={"demo": {"replicates": blocks, "calls": 10, "warmup": 1}},
        **changes,
    )
    make_run(directory, times, study=study)
    return open_run(str(directory))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return made(tmp_path_factory.mktemp("runs") / "plots", 12)


def test_the_factor_of_the_plots_is_found_in_the_plan(run):
    plots = whole_plots(run.plan)
    assert plots.factors == ("link_mbit",)
    assert (plots.blocks, plots.distinct, plots.number) == (12, 2, 24)
    assert len(plots.of_trial) == len(run.plan) == 96
    assert plots.part(run.cells)
    assert not plots.part([cell for cell in run.cells if cell["link_mbit"] == 10])


def test_the_report_names_the_whole_plots(run):
    (said,) = [fact.text for fact in facts_of(analyse(run)) if fact.name == "Whole plots"]
    assert said.startswith("link_mbit: 2 settings in 12 blocks, 24 of 24 whole plots measured")
    assert not [one for one in find_warnings(analyse(run)) if "No verdict about" in one.text]


def test_two_blocks_say_nothing_of_a_setting(tmp_path):
    analysis = analyse(made(tmp_path / "short", 2))
    (warning,) = [one for one in find_warnings(analysis) if "No verdict about" in one.text]
    assert "link_mbit: 2 blocks were measured, but 3 are needed" in warning.text
    assert replicate(analysis).measured.whole_plots(analysis.run.cells)


def test_a_trial_that_ran_under_another_setting_is_named(run, tmp_path):
    assert not [one for one in find_warnings(analyse(run)) if "other node settings" in one.text]
    other = made(tmp_path / "other", 3)
    planned = next(trial for trial in other.plan if trial.factors["link_mbit"] == 10)
    read = {"node on w1": {"link_mbit": 1}}
    edit_json(other.trials_directory / planned.id / "trial.json", settings=read)
    said = [one for one in find_warnings(analyse(other)) if "other node settings" in one.text]
    (warning,) = said
    assert warning.text == "1 trial ran under other node settings than planned."
    assert warning.details == (f"{planned.id}: node on w1 had link_mbit 1, not 10",)


def test_a_night_is_planned_with_whole_plots(run, capsys):
    assert main(["power", str(run.directory), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    plots = found["whole_plots"]
    assert plots["factors"] == ["link_mbit"]
    assert (plots["settings"], plots["changes_a_block"]) == (2, 1.5)
    deviations = [cell["deviation"] for cell in found["cells"]]
    assert np.mean([one["plots"] for one in deviations]) == pytest.approx(0.1, rel=0.4)
    # A ratio of two settings has the variance of two plots and of two forks; so has no other.
    assert main(["power", str(run.directory), "--contrast", "servers", "--json"]) == 0
    within = json.loads(capsys.readouterr().out)["as_it_stands"]["blocks"]
    assert plots["blocks"]["link_mbit"] > 3 * within
    assert main(["power", str(run.directory)]) == 0
    assert "in every ratio of two link_mbit" in capsys.readouterr().out


@pytest.mark.parametrize(("contrast", "least"), [("link_mbit", 3), ("servers", 2)])
def test_a_night_of_two_blocks_promises_nothing_on_settings(run, capsys, contrast, least):
    command = ["power", str(run.directory), "--contrast", contrast]
    assert main([*command, "--json"]) == 0
    block_s = json.loads(capsys.readouterr().out)["best"]["block_s"]
    for blocks in (least - 1, least):
        hours = ["--hours", str((blocks + 0.5) * block_s / 3600)]
        assert main([*command, *hours, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["best"]["night"]["blocks"] == blocks
        widths = {one["best"]["half_width"] for one in found["quantities"]}
        widths |= {one["best"]["detectable"] for one in found["quantities"]}
        assert (found["best"]["night"]["half_width"] is None) == (blocks < least)
        assert (widths == {None}) == (blocks < least)
        assert main([*command, *hours]) == 0
        said = " ".join(capsys.readouterr().out.split())
        number = "3 blocks, which a verdict on settings of the nodes" if least > 2 else "two blocks"
        assert (f"too short for {number}" in said) == (blocks < least)


def test_exported_trials_name_their_plots_and_anova_refuses_to_ignore_them(run, tmp_path, capsys):
    file = tmp_path / "trials.csv"
    assert main(["export", str(run.directory), "--format", "trials", "-o", str(file)]) == 0
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert list(rows[0])[-1] == "whole_plot"
    assert {(row["link_mbit"], row["whole_plot"]) for row in rows} == {
        (link, f'{{"link_mbit":{link}}}') for link in ("10", "100")
    }
    naive = ["anova", str(file), "--response", "log_mean", "--factor", "link_mbit"]
    naive += ["--factor", "transport", "--block", "block"]
    capsys.readouterr()
    assert main(naive) == 2
    assert "add --block block --whole-plot link_mbit" in capsys.readouterr().err
    assert main([*naive, "--whole-plot", "link_mbit", "--json"]) == 0
    table = {row["Source"]: row for row in json.loads(capsys.readouterr().out)}
    assert table["Whole-plot error"]["df"] == 11
    within = ["anova", str(file), "--response", "log_mean", "--factor", "transport"]
    assert main([*within, "--block", "block"]) == 0


def test_the_column_of_the_plots_is_a_factor_between_them(run, tmp_path, capsys):
    file = tmp_path / "trials.csv"
    assert main(["export", str(run.directory), "--format", "trials", "-o", str(file)]) == 0
    command = ["anova", str(file), "--response", "log_mean", "--factor", "whole_plot"]
    capsys.readouterr()
    assert main(command) == 2
    assert "add --block block --whole-plot whole_plot" in capsys.readouterr().err
    assert main([*command, "--block", "block", "--whole-plot", "whole_plot", "--json"]) == 0
    table = {row["Source"]: row for row in json.loads(capsys.readouterr().out)}
    assert table["Whole-plot error"]["df"] == 11
    assert "Other whole plots" not in table


def of_rows(directory, rows):
    """Write trials with their blocks, and return the command that analyses them."""
    file = directory / "trials.csv"
    file.write_text("\n".join(rows) + "\n")
    return ["anova", str(file), "--response", "log_mean", "--block", "block"]


def test_each_factor_that_differs_between_plots_alone_must_be_named(tmp_path, capsys):
    rng = np.random.default_rng(4)
    rows = ["block,link,heap,log_mean,whole_plot"]
    rows += [
        f"{block},{link},{heap},{rng.normal():.5f},{link} {heap}"
        for block in range(6)
        for link in (10, 100)
        for heap in (64, 128)
        for _ in range(3)
    ]
    command = of_rows(tmp_path, rows)
    command += ["--factor", "link", "--factor", "heap", "--whole-plot", "link"]
    assert main(command) == 2
    assert "add --block block --whole-plot heap" in capsys.readouterr().err
    assert main([*command, "--whole-plot", "heap"]) == 0


def test_factors_of_the_plots_that_are_not_named_are_no_error_within_them(tmp_path, capsys):
    """Of 95 degrees of freedom, 5 + 1 + 5 + 12 lie between the 24 plots, and 2 are of enc."""
    rng = np.random.default_rng(5)
    rows = ["block,jdk,gc,enc,log_mean,whole_plot"]
    rows += [
        f"{block},{jdk},{gc},{enc},{gc + 0.1 * enc + rng.normal(0, 0.03):.5f},{jdk} {gc}"
        for block in range(6)
        for jdk in (21, 25)
        for gc in (0, 1)
        for enc in (0, 1)
        for _ in range(2)
    ]
    command = of_rows(tmp_path, rows)
    command += ["--factor", "jdk", "--factor", "enc", "--whole-plot", "jdk"]
    assert main([*command, "--json"]) == 0
    table = {row["Source"]: row for row in json.loads(capsys.readouterr().out)}
    assert table["enc"]["P-value"] < 1e-6
    assert table["jdk"]["P-value"] > 0.05
    assert {name: row["df"] for name, row in table.items()} == {
        **{"jdk": 1, "block": 5, "Whole-plot error": 5, "Other whole plots": 12},
        **{"enc": 1, "Interaction": 1, "Within": 70, "Total": 95},
    }
    assert table["Other whole plots"]["SS"] == pytest.approx(96 * 0.25, rel=0.05)
    assert main(command) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Between whole plots (24 in 6 blocks): jdk against Whole-plot error, 5 degrees" in said
    assert "Other whole plots: 12 degrees of freedom between whole plots that differ in no" in said


@pytest.mark.parametrize("whole", [[], ["--whole-plot", "persistence"]])
def test_a_factor_of_which_some_levels_share_a_plot_has_no_single_error(tmp_path, capsys, whole):
    rng = np.random.default_rng(6)
    file = tmp_path / "trials.csv"
    plots = {"none": "{}", "written": "{}", "synced": "synced"}
    rows = ["block,persistence,size,log_mean,whole_plot"]
    rows += [
        f"{block},{persistence},{size},{rng.normal():.5f},{plot}"
        for block in range(4)
        for persistence, plot in plots.items()
        for size in (1, 2)
        for _ in range(2)
    ]
    command = of_rows(tmp_path, rows)
    command += ["--factor", "persistence", "--factor", "size"]
    assert main([*command, *whole]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "some levels of persistence share a whole plot (column whole_plot) and others" in said
    assert "analyse the levels of one setting alone, or one level of each setting" in said
    # Levels of one setting, and one level of each, each with the error that fits.
    for level, named in (("synced", []), ("none", ["--whole-plot", "persistence"])):
        file.write_text("\n".join(row for row in rows if f",{level}," not in row) + "\n")
        assert main([*command, *named]) == 0


@pytest.mark.parametrize("whole", [[], ["--whole-plot", "matrix"]])
def test_factors_that_decide_a_plot_only_together_have_no_single_error(tmp_path, capsys, whole):
    rng = np.random.default_rng(7)
    rows = ["block,encoding,matrix,log_mean,whole_plot"]
    rows += [
        f"{block},{encoding},{matrix},{rng.normal():.5f},"
        f"{'heap' if (encoding, matrix) == ('xml', 500) else 'none'}"
        for block in range(4)
        for encoding in ("xml", "mime")
        for matrix in (10, 500)
        for _ in range(2)
    ]
    command = of_rows(tmp_path, rows)
    assert main([*command, "--factor", "encoding", "--factor", "matrix", *whole]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "some combinations of encoding and matrix share a whole plot (column" in said
    assert "no single error term fits; analyse the combinations of one setting alone" in said


def test_a_block_begins_with_any_setting_also_with_that_of_the_block_before(tmp_path, capsys):
    """Three settings take two changes, and one more in two of three blocks."""
    run = made(tmp_path / "three", 3, {"link_mbit": [10, 100, 1000], "servers": [1, 3]})
    assert main(["power", str(run.directory), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["whole_plots"]
    assert (found["settings"], found["changes_a_block"]) == (3, pytest.approx(2 + 2 / 3))


def test_a_change_of_setting_costs_its_time(tmp_path, capsys):
    block_s = []
    for change in (0, 30):
        run = made(tmp_path / f"of-{change}-s", 3)
        in_plots(run, change)
        assert main(["power", str(run.directory), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["whole_plots"]["change_s"] == pytest.approx(change)
        block_s.append(found["as_it_stands"]["block_s"])
    assert block_s[1] - block_s[0] == pytest.approx(1.5 * 30)


def test_starts_of_services_are_no_part_of_a_change_of_setting(tmp_path, capsys):
    run = made(tmp_path / "started", 3)
    in_plots(run, 30, [{"restart_ms": 15_000.0, "warm_ms": 5_000.0}])
    assert main(["power", str(run.directory), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["whole_plots"]["change_s"] == pytest.approx(10)


def in_plots(run, change, starts=()):
    """Let the trials of a run follow each other by plots, with a pause of half a second.

    Each plot but the first begins after `change` seconds more, with `starts` of services.
    """
    now, last = datetime(2026, 3, 1, 22, 0, tzinfo=UTC), None
    for planned in sorted(run.plan, key=lambda one: (one.block, one.factors["link_mbit"])):
        plot = planned.block, planned.factors["link_mbit"]
        is_changed = last not in (None, plot)
        now += timedelta(seconds=0.5 + (change if is_changed else 0))
        ended = now + timedelta(seconds=1.5)
        edit_json(
            run.trials_directory / planned.id / "trial.json",
            started_at=of(now),
            ended_at=of(ended),
            block_starts=list(starts) if is_changed else [],
        )
        now, last = ended, plot


def of(time):
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
