import json
import math
from dataclasses import replace
from statistics import fmean

import pytest
from made_up_studies import changed
from scipy.stats import t, ttest_1samp
from synthetic import make_run, spread

from collect.cells.analysis import analyse
from collect.cli import main
from collect.replication.contrasts import Sample, ranks_table, residual_table
from collect.replication.evidence import Untested, read_published
from collect.replication.replicate import replicate
from collect.replication.studies import find
from collect.replication.studies.sort.growth import _order
from collect.report.deviations import conditions_of
from collect.report.provenance import ABSENT
from collect.run.cell import Cell
from collect.run.directory import open_run
from collect.stats.estimates import Estimate


def table_of(replication, title):
    (found,) = [exhibit for exhibit in replication.exhibits if exhibit.title == title]
    return found


def texts(row):
    return [entry.text or (entry.estimate and entry.estimate.value) for entry in row]


@pytest.fixture(scope="module")
def overhead(shared_run):
    return replicate(analyse(shared_run("overhead", "demo")))


def test_77_percent_of_the_printed_residual_is_of_two_cells(overhead):
    (row,) = [r for r in table_of(overhead, "Residual check").rows if r[0].text == "sizes, paper"]
    assert row[4].sort == pytest.approx(0.77, abs=0.005)
    assert row[5].text == "TCP, 20\u202f000 bytes; SOAP/HTTP, 15\u202f000 bytes"
    assert row[1].text == "", "print has no residuals to test for a shape"


def test_aligned_ranks_stand_beside_f(overhead):
    rows = [texts(row) for row in table_of(overhead, "F and aligned ranks").rows]
    inside = {row[1] for row in rows if row[0] == "sizes, measured: trials in 3 blocks"}
    assert inside == {"F, blocks in the model", "aligned ranks, F"}
    assert all(0 <= row[5] <= 1 for row in rows)


def test_figure_5_has_the_printed_totals(overhead):
    rows = table_of(overhead, "Figure 5: summary of the calls").rows
    whole = {row[1].text: row for row in rows if row[0].text == "all sizes"}
    # The last columns of Figure 6, printed: sums 1668.6 and 9088.7, variances 45.52 and 48.77.
    assert whole["sum"][2].estimate.value == pytest.approx(1668.6, abs=0.05)
    assert whole["sum"][4].estimate.value == pytest.approx(9088.7, abs=0.5)
    assert whole["variance"][2].estimate.value == pytest.approx(45.52, abs=0.05)
    assert whole["variance"][4].estimate.value == pytest.approx(48.77, abs=0.05)


def test_few_or_equal_values_give_empty_tables_and_no_error():
    samples = [Sample("one trial", ["a", "b"], [[1.0], [2.0]])]
    equal = [Sample("equal", ["a", "b"], [[1.0, 1.0], [2.0, 2.0]])]
    for sample in (samples, equal, []):
        assert ranks_table(sample).rows == []
        assert residual_table(sample).rows == []


def squared(planned, rng):
    return spread(1e-5 * planned.factors["integers"] ** 2, planned, rng)


@pytest.fixture(scope="module")
def n_squared(tmp_path_factory):
    directory = tmp_path_factory.mktemp("squared") / "results" / "squared"
    make_run(directory, squared)
    return replicate(analyse(open_run(str(directory))))


def test_growth_exponents_are_found(n_squared):
    rows = [texts(row) for row in table_of(n_squared, "Growth exponents").rows]
    printed = {tuple(row[:3]): row[3] for row in rows}
    assert printed["JMS", "1", "from 50\u202f000"] == pytest.approx(1.997, abs=5e-4)
    assert printed["SOAP", "1", "from 50\u202f000"] == pytest.approx(1.160, abs=5e-4)
    own = [row for row in rows if row[2] == "all sizes"]
    assert [row[4] for row in own] == pytest.approx([2] * 6, abs=0.2)
    assert sum(row[5] == "as n²" for row in own) >= 4


@pytest.mark.parametrize(("spread_of", "words"), [(0.02, "as n²"), (1.5, "cannot be told")])
def test_a_power_is_named_only_where_its_interval_is_short(run_of, spread_of, words):
    def times(planned, rng):
        noise = rng.lognormal(0, spread_of)
        return [1e-5 * planned.factors["integers"] ** 2 * noise] * planned.calls

    rows = table_of(replicate(analyse(run_of(times))), "Growth exponents").rows
    own = [row for row in rows if row[2].text == "all sizes"]
    short = [row[4].estimate.half_width < 0.25 for row in own]
    assert [row[5].text == "cannot be told" for row in own] == [not one for one in short]
    assert any(row[5].text == words for row in own)


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((0.7, 0.9), "slower than n"),
        ((0.9, 1.1), "as n"),
        ((1.2, 1.6), "between n and n²"),
        ((1.8, 2.1), "as n²"),
        ((2.1, 2.4), "faster than n²"),
        ((0.95, 1.55), "cannot be told"),
        ((None, None), "no interval"),
    ],
)
def test_a_power_is_named_by_its_whole_interval(ends, words):
    assert _order(Estimate(1.0, *ends, 3)) == words


def test_rates_of_growth_are_over_the_size_below(n_squared):
    data = table_of(n_squared, "Figure 11: rates of growth").data
    rows = [row for row in data.rows if row[2].text == "5\u202f000"]
    assert [row[-2].estimate.value for row in rows] == pytest.approx([100] * 6, rel=0.25)
    published = find("sort").published()
    for row in rows:
        large, small = (published.value(row[-2].cell.at(integers=n)).value for n in (5000, 500))
        assert row[-3].estimate.value == pytest.approx(large / small)


def test_each_p_value_stays_with_its_row(run_of):
    """With one server both take as long, with five SOAP takes twice; of three one block is left."""

    def times(planned, rng):
        servers, is_soap = planned.factors["servers"], planned.factors["transport"] == "soap"
        if servers == 3 and planned.block > 1:
            return "failed"
        level = 20.0 if servers == 5 and is_soap else 10.0
        return [level * rng.lognormal(0, 0.02)] * planned.calls

    few = {"transport": ["soap", "jms"], "servers": [1, 3, 5], "integers": [500]}
    study = changed(factors=few, replicates=6, calls=3, warmup=1)
    replication = replicate(analyse(run_of(times, study=study, profile="paper")))
    rows = table_of(replication, "System against system").rows
    assert [row[-1].text for row in rows] == [
        "no difference found",
        "too few trials to tell",
        "JMS",
    ]
    alike, untested, apart = (row[-2].estimate for row in rows)
    assert untested is None
    five = [Cell.of(transport=name, servers=5, integers=500) for name in ("soap", "jms")]
    ratios = [math.log(soap / jms) for soap, jms in replication.measured.rows(five)]
    assert apart.value == pytest.approx(2 * ttest_1samp(ratios, 0).pvalue)
    assert alike.value > 0.05


def test_equal_systems_are_not_called_different(n_squared):
    rows = table_of(n_squared, "System against system").rows
    assert len(rows) == 6
    assert {row[-1].text for row in rows} == {"no difference found"}


def test_what_is_far_apart_is_called_faster(overhead):
    rows = [texts(row) for row in table_of(overhead, "System against system").rows]
    assert {row[-1] for row in rows} == {"TCP"}
    assert all(row[-2] != 0 for row in rows)


def test_a_ratio_that_tells_who_is_faster_is_not_shown_as_one(run_of, capsys):
    def times(planned, rng):
        level = 10.02 if planned.factors["transport"] == "soap" else 10.0
        return [level * rng.lognormal(0, 1e-6)] * planned.calls

    run = run_of(times)
    rows = table_of(replicate(analyse(run)), "System against system").rows
    assert {row[-1].text for row in rows} == {"JMS"}
    assert {row[-3].show(row[-3].estimate.value) for row in rows} == {"1.002"}
    assert main(["export", str(run.directory), "--format", "replication", "-o", "-"]) == 0
    told = "| SOAP | JMS | 1.002 \\[1.002, 1.002\\] |"
    assert capsys.readouterr().out.count(told) == len(rows)
    assert main(["report", str(run.directory)]) == 0
    page = (run.directory / "report.html").read_text()
    assert page.count("1.002<small> 1.002 … 1.002</small>") == len(rows)


def test_one_block_is_too_few_to_tell(run_of):
    run = run_of(until=12)
    rows = table_of(replicate(analyse(run)), "System against system").rows
    assert {row[-1].text for row in rows} == {"too few trials to tell"}


def test_efficiency_is_speed_up_for_each_server(n_squared):
    row = table_of(n_squared, "Speed-up").rows[3]
    for speed, efficiency in ((2, 3), (6, 7)):
        servers = 3 if speed == 2 else 5
        assert row[speed].estimate.value == pytest.approx(servers * row[efficiency].estimate.value)
    assert row[2].estimate.value == pytest.approx(2627119 / 295689)


def test_soap_overtakes_jms_where_the_printed_lines_cross(n_squared):
    rows = [texts(row) for row in table_of(n_squared, "Where SOAP overtakes JMS").rows]
    found = {row[0]: row[1] for row in rows}
    assert 5000 < float(found["1"].replace("\u202f", "")) < 50000
    assert found["5"] == "above 100\u202f000"


@pytest.mark.parametrize(
    ("soap_ms", "why"),
    [(20.0, "all ratios are equal: no test"), (0.0, "times of 0 ms have no ratio")],
)
def test_why_many_trials_have_no_test_is_said(run_of, soap_ms, why):
    def times(planned, rng):
        is_zero = soap_ms == 0 and planned.block == 1
        soap = 0.0 if is_zero else 20.0
        return [soap if planned.factors["transport"] == "soap" else 10.0] * planned.calls

    rows = table_of(replicate(analyse(run_of(times))), "System against system").rows
    assert {row[-1].text for row in rows} == {why}


def test_measured_stands_over_paper_with_its_interval(n_squared):
    data = table_of(n_squared, "Figure 8: JMS times").data
    assert [head.text for head in data.heads[0]][-3:] == ["paper", "measured", "measured / paper"]
    for row in data.rows:
        printed, own, ratio = (entry.estimate for entry in row[-3:])
        if own is None:
            assert ratio is None
            continue
        # Papers print arithmetic means, so both are.
        means = list(n_squared.measured.samples(row[-2].cell).values())
        assert ratio.value == pytest.approx(fmean(means) / printed.value)
        assert ratio.value > own.value / printed.value


def test_measured_over_paper_is_corrected_for_interim_analyses(n_squared):
    jms = Cell.of(transport="jms", servers=1, integers=500)
    plain = n_squared.measured.arithmetic(jms)
    corrected = replace(n_squared.measured, error=0.0167).arithmetic(jms)
    freedom = plain.samples - 1
    longer = t.isf(0.0167 / 2, freedom) / t.isf(0.025, freedom)
    assert math.log(corrected.high / plain.value) == pytest.approx(
        longer * math.log(plain.high / plain.value)
    )


def test_published_rows_are_one_block():
    published = find("sort").published()
    jms = Cell.of(transport="jms", servers=1, integers=500)
    assert published.rows([jms, jms.at(transport="soap")]) == [[2872, 3816]]
    assert isinstance(published.rows([jms.at(servers=2)]), Untested)


@pytest.mark.parametrize("study", ["sort", "binding", "mtom", "overhead", "attachments"])
def test_every_stated_condition_is_compared_with_what_the_run_recorded(shared_run, study):
    stated = read_published(study, "conditions")
    assert stated
    for row in stated:
        assert row["study"] == study
        assert row["document"].startswith("00")
        assert row["stated"]
    compared = conditions_of(analyse(shared_run(study, "demo")))
    assert [one.name for one in compared] == [row["condition"] for row in stated]
    assert [one.name for one in compared if one.here == ABSENT] == []


def test_deviations_follow_from_run_json(run_of):
    run = run_of()
    path = run.directory / "run.json"
    record = json.loads(path.read_text())
    for node in record["nodes"]:
        node["cores"] = 1
        del node["jdk"]
    path.write_text(json.dumps(record))
    found = {one.name: one for one in conditions_of(analyse(open_run(str(run.directory))))}
    assert found["cores of a node"].is_met is True
    assert found["link, Mbit/s"].is_met is True
    assert (found["system"].here, found["system"].is_met) == ("Debian 13", False)
    assert (found["Java"].here, found["Java"].is_met) == (ABSENT, None)
    assert found["messaging"].here == "OpenMQ 6.7.0"


def test_a_run_without_provenance_has_no_invented_conditions(run_of):
    run = run_of()
    (run.directory / "run.json").unlink()
    found = conditions_of(analyse(open_run(str(run.directory))))
    assert {one.here for one in found if one.name != "link, Mbit/s"} == {ABSENT}


def test_systems_are_paired_by_block_and_not_by_place(run_of):
    """Each lacks another middle block: by place they would meet the wrong blocks of each other."""

    def times(planned, rng):
        is_soap = planned.factors["transport"] == "soap"
        if planned.block == (2 if is_soap else 4):
            return "failed"
        return [(2.0 if is_soap else 1.0) * 10.0**planned.block] * planned.calls

    study = changed(replicates=5, calls=3, warmup=1)
    rows = table_of(
        replicate(analyse(run_of(times, study=study, profile="paper"))), "System against system"
    ).rows
    assert rows
    for row in rows:
        first, ratio = row[-5].text, row[-3].estimate
        assert ratio.value == pytest.approx(2.0 if first == "SOAP" else 0.5)
        assert (ratio.samples, ratio.lost) == (3, 2)


def test_systems_without_a_common_block_are_said_not_to_be_compared(run_of):
    """With one server SOAP has the first two of five blocks, and JMS the others."""

    def times(planned, rng):
        is_soap = planned.factors["transport"] == "soap"
        if planned.factors["servers"] == 1 and is_soap != (planned.block < 3):
            return "failed"
        return [10.0 * rng.lognormal(0, 0.02)] * planned.calls

    few = {"transport": ["soap", "jms"], "servers": [1, 5], "integers": [500]}
    study = changed(factors=few, replicates=5, calls=3, warmup=1)
    replication = replicate(analyse(run_of(times, study=study, profile="paper")))
    apart, together = table_of(replication, "System against system").rows
    assert apart[-1].text == "no block holds both"
    assert (apart[-2].estimate, apart[-3].estimate) == (None, None)
    assert together[-3].estimate.samples == 5


def test_a_condition_is_met_only_where_every_node_meets_it(run_of):
    run = run_of()
    path = run.directory / "run.json"
    record = json.loads(path.read_text())
    for number, node in enumerate(record["nodes"]):
        node["cores"] = 1 if number == 0 else 4
    path.write_text(json.dumps(record))
    found = {one.name: one for one in conditions_of(analyse(open_run(str(run.directory))))}
    assert found["cores of a node"].is_met is False
    for node in record["nodes"]:
        node["cores"] = 1
    path.write_text(json.dumps(record))
    found = {one.name: one for one in conditions_of(analyse(open_run(str(run.directory))))}
    assert found["cores of a node"].is_met is True
