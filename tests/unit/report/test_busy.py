"""What the page shows of the load, and of the parts of a call."""

import json
import re

import pytest
from made_up_studies import changed
from synthetic import add_parts, add_resources, busy_lab

from collect.cells.analysis import analyse
from collect.cli import main
from collect.costs.limits import Limit
from collect.replication import charts
from collect.report.drawings.busy import timelines_of
from collect.report.drawings.parts import bars_of
from collect.report.warnings import _of_limits, find_warnings

NODES = ("client", "broker", *(f"worker{number}" for number in range(1, 6)))


@pytest.fixture(autouse=True)
def _draw_no_charts(monkeypatch):
    monkeypatch.setattr(charts, "save", lambda panels, stem: None)
    monkeypatch.setattr(charts, "page_svg", lambda spec: "<svg></svg>")


@pytest.fixture
def busy_run(run_of):
    """A run whose trials take ten seconds and recorded everything, on one kernel."""
    study = changed(
        factors={"transport": ["soap", "jms"], "servers": [1], "integers": [500, 5000]},
        profiles={"demo": {"replicates": 2, "calls": 10, "warmup": 2}},
    )
    run = run_of(lambda planned, rng: [1000.0 + planned.block] * 10, study=study)
    for planned in run.plan:
        directory = run.trials_directory / planned.id
        nodes = {name: {"boot": "same"} for name in NODES}
        add_resources(directory, nodes, busy_lab(planned, 16.0))
        add_parts(directory, [(seq, 10**8, 10**7, 8 * 10**8, 5 * 10**7) for seq in range(10)])
    return run


def page_of(run):
    assert main(["report", str(run.directory)]) == 0
    return (run.directory / "report.html").read_text(encoding="utf-8")


def test_the_page_says_of_each_cell_what_limits_it(busy_run):
    page = page_of(busy_run)
    table = page[page.index('id="r1-busy"') :].split("</table>")[0]
    words = re.findall(r'<td(?: class="bad")?>(service|client|not known|waiting)</td>', table)
    assert words == [cell.limit.by for cell in analyse(busy_run).cells]
    assert len(words) == 4
    assert "of the 1 core that 1 client thread can keep busy" in table
    assert page.count('<svg class="drawing strip"') >= 4 * 3


def test_a_page_of_a_run_without_samples_is_as_it_was(run_of):
    run = run_of(study=changed(profiles={"demo": {"replicates": 2}}))
    page = page_of(run)
    for word in ("busiest resource", "r1-busy", "r1-parts", "timelines", "CPU ms"):
        assert word not in page.split("</style>")[1], word
    assert not [w for w in find_warnings(analyse(run)) if "limit" in w.text.lower()]
    record = json.loads((run.trials_directory / run.plan[0].id / "trial.json").read_text())
    assert record["resources"] is None


def test_the_head_says_when_the_bench_itself_was_the_limit(busy_run):
    for planned in busy_run.plan:
        rows = [
            (second, node, service, {"cpu_cores": cores} if second else {})
            for second in range(18)
            for node in NODES
            for service, cores in (("", 0.28), ("runner" if node == "client" else "x", 0.25))
        ]
        nodes = {name: {"boot": "same"} for name in NODES}
        add_resources(busy_run.trials_directory / planned.id, nodes, rows)
    head = page_of(busy_run).split(">Summary<")[0]
    assert "4 of 4 cells were limited by the bench itself: 4 by shared cores." in head
    assert "the CPU time of a call" in head
    assert "the 7 nodes share 2 cores, which were 98 % busy: client 12 %, service 75 %" in head


@pytest.mark.parametrize(("limited", "verb"), [(1, "1 of 4 cells was"), (2, "2 of 4 cells were")])
def test_the_head_counts_in_plain_english(busy_run, limited, verb):
    cells = analyse(busy_run).cells
    for cell in cells[:limited]:
        cell.__dict__["limit"] = Limit("shared cores", "all share 2 cores", is_bench=True)
    told = [warning.text for warning in _of_limits(cells)]
    assert [text.partition(" limited by the bench")[0] for text in told] == [verb]


def test_a_gap_is_drawn_as_a_gap(busy_run):
    for planned in busy_run.plan:
        rows = [
            (float(second), "client", service, {"cpu_cores": 1.0} if known else {})
            for second in range(21)
            for service in ("", "runner")
            for known in [second not in (0, 10, 11)]
        ]
        nodes = {"client": {}, "worker1": {"missing": "its health service is older"}}
        add_resources(busy_run.trials_directory / planned.id, nodes, rows)
    (one, *_) = timelines_of(analyse(busy_run).cells)
    calls, client, worker = one.strips
    assert (calls.name, client.name, worker.name) == ("time of a call", "client", "worker1")
    # Calls are measured from 6 s on for 10 s; of the 20 s, those from 9 to 11 are a gap.
    ((start, width),) = client.gaps
    assert (start, width) == (pytest.approx(100 * 9 / 20), pytest.approx(100 * 2 / 20))
    assert client.line == "M0 11H180M220 11H400"
    assert client.area == "M0 11H180V22H0ZM220 11H400V22H220Z"
    assert worker.text == "not known (its health service is older)"
    assert (worker.line, worker.gaps) == ("", [pytest.approx(one.phase)])
    assert one.phase == (pytest.approx(30, abs=0.1), pytest.approx(50, abs=0.1))
    page = page_of(busy_run)
    assert page.count('<path class="gap"') == 2 * 4
    assert "The limit of 4 cells is unknown." in page


def test_bars_of_systems_share_an_axis_and_their_pieces_add_up(busy_run):
    groups = bars_of(analyse(busy_run).cells, "transport", {"soap": "SOAP", "jms": "JMS"})
    assert [group.name for group in groups] == ["integers 500", "integers 5\u202f000"]
    for group in groups:
        assert [bar.system for bar in group.bars] == ["SOAP", "JMS"]
        for bar in group.bars:
            assert sum(piece.width for piece in bar.pieces) == pytest.approx(
                group.axis.place(bar.parts.total)
            )
            assert [piece.name for piece in bar.pieces] == [
                *("serialise", "send", "wait", "parse", "rest")
            ]
            assert bar.pieces[0].mean_ms == pytest.approx(100)
            assert bar.pieces[-1].mean_ms == pytest.approx(41.5)
