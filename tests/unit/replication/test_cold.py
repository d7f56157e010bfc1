import re
from pathlib import Path

import pytest
from synthetic import cold_times, make_run

from collect.cells.analysis import analyse
from collect.replication.evidence import Untested
from collect.replication.replicate import replicate
from collect.replication.studies.cold import of_the_compiler, published_ratio, ratio
from collect.run.directory import open_run
from collect.run.study import find_study, load_study
from collect.run.warmup import Warmup

ROOT = Path(__file__).parents[3]


def exact_times(planned, rng):
    """SOAP is 30 times TCP when warm and 20 times when cold, in every block but for 0.01 %."""
    mean = {"tcp": {"cold": 0.2, "warm": 0.05}, "soap": {"cold": 4.0, "warm": 1.5}}
    level = mean[planned.factors["protocol"]][planned.factors["start"]] * planned.block
    if planned.factors["protocol"] == "tcp":
        level *= (1, 1.0001, 1 / 1.0001)[planned.block - 1]
    if planned.factors["start"] == "warm":
        return [level] * planned.calls
    first = 10 * level
    return [first, *[(planned.calls * level - first) / (planned.calls - 1)] * (planned.calls - 1)]


@pytest.fixture(scope="module")
def exact(tmp_path_factory):
    directory = tmp_path_factory.mktemp("cold") / "night"
    make_run(directory, exact_times, study="cold")
    return replicate(analyse(open_run(str(directory))))


def exhibit(replication, name):
    (found,) = [one for one in replication.exhibits if one.id == name]
    return found


def test_the_ratio_is_that_of_each_start_and_the_compiler_is_their_quotient(exact):
    measured = exact.measured
    assert ratio(measured, "cold").value == pytest.approx(20)
    assert ratio(measured, "warm").value == pytest.approx(30)
    factor = of_the_compiler(measured)
    assert factor.value == pytest.approx(2 / 3)
    assert factor.low == pytest.approx(2 / 3, rel=1e-3)
    assert published_ratio().value == pytest.approx(13.4, abs=0.05)


def test_the_table_shows_both_starts_their_quotient_and_the_printed_ratio(exact):
    rows = exhibit(exact, "cold-ratio").rows
    shown = [[entry.estimate and round(entry.estimate.value, 4) for entry in row] for row in rows]
    geometric = 6 ** (1 / 3)
    assert shown[0][1:] == [round(0.2 * geometric, 4), round(4 * geometric, 4), 20]
    assert shown[1][1:] == [round(0.05 * geometric, 4), round(1.5 * geometric, 4), 30]
    assert shown[2][1:] == [4, 2.6667, 0.6667]
    assert (shown[3][:3], rows[3][3].is_published) == ([None] * 3, True)


def test_the_figure_follows_the_calls_of_each_protocol_and_start(exact):
    rows = exhibit(exact, "cold-calls").data.rows
    assert len(rows) == 4 * 20
    tcp = [row for row in rows if (row[0].text, row[1].text) == ("TCP", "cold")]
    assert [row[2].text for row in tcp] == [str(place) for place in range(1, 21)]
    first, second = (row[-1].estimate or row[-2].estimate for row in tcp[:2])
    assert first.value == pytest.approx(2 * 6 ** (1 / 3))
    assert second.value == pytest.approx(2 / 19 * 6 ** (1 / 3), rel=1e-4)


def test_the_summary_says_what_a_cold_client_does_to_the_ratio(exact, shared_run):
    first, second = exact.summary
    assert "SOAP took 20.0 [20.0, 20.0] times as long as TCP from the first call" in first
    assert "30.0 [30.0, 30.0] times as long after a long warm-up" in first
    assert second.startswith("A cold client hides a part of the difference")
    assert replicate(analyse(shared_run("cold", "demo"))).summary


def test_an_interval_that_contains_one_leaves_it_open(tmp_path):
    def times(planned, rng):
        factor = 1 + planned.block / 2 if planned.factors["start"] == "cold" else 2
        return [factor] * planned.calls if planned.factors["protocol"] == "soap" else [1.0] * 20

    make_run(tmp_path / "night", times, study="cold")
    _, second = replicate(analyse(open_run(str(tmp_path / "night")))).summary
    assert second.startswith("Whether a cold client changes the ratio is open")


def test_an_interval_that_ends_close_to_one_is_not_shown_to_end_there(tmp_path):
    def times(planned, rng):
        is_cold_soap = dict(planned.factors) == {"protocol": "soap", "start": "cold"}
        level = (0.9990, 0.9992, 0.9994)[planned.block - 1] if is_cold_soap else 1.0
        return [level] * planned.calls

    make_run(tmp_path / "night", times, study="cold")
    _, second = replicate(analyse(open_run(str(tmp_path / "night")))).summary
    assert second.startswith("A cold client hides a part of the difference")
    assert second.endswith("by the factor 0.999 [0.999, 0.9997].")


def test_without_a_cell_nothing_is_said_of_the_compiler(tmp_path):
    def times(planned, rng):
        is_lost = dict(planned.factors) == {"protocol": "tcp", "start": "cold"}
        return "failed" if is_lost else cold_times(planned, rng)

    make_run(tmp_path / "night", times, study="cold")
    replication = replicate(analyse(open_run(str(tmp_path / "night"))))
    assert isinstance(of_the_compiler(replication.measured), Untested)
    assert replication.summary == []
    table = exhibit(replication, "cold-ratio")
    assert table.rows[0][3].text.startswith("tcp, cold: failed")
    assert table.rows[1][3].estimate is not None


@pytest.mark.parametrize("profile", ["demo", "paper", "overnight"])
def test_cold_cells_warm_up_not_at_all_and_warm_ones_for_seconds(profile):
    resolved = load_study(find_study("cold")).profile(profile, 5)
    for cell in resolved.cells():
        warmup = resolved.settings(cell).warmup
        assert (warmup == 0) == (cell["start"] == "cold")
        assert warmup == 0 or (isinstance(warmup, Warmup) and warmup.least_s >= 1)
    assert resolved.restart == "block"


def test_it_is_no_part_of_the_demo_and_no_client_reads_its_start():
    assert "cold" not in (ROOT / "playbooks/demo.yml").read_text()
    read = re.compile(r'setting\.\w+\(\s*"start"')
    clients = (ROOT / "java-apps/clients").rglob("*.java")
    assert [path.name for path in clients if read.search(path.read_text())] == []
