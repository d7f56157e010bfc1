"""The load while calls were measured, and what follows from it, recomputed by hand."""

import json
from dataclasses import replace

import pytest
from made_up_studies import changed
from synthetic import add_parts, add_resources, seal

from collect.cells.analysis import analyse
from collect.cells.cells import write_cells
from collect.costs.limits import limit_of
from collect.costs.resources import read_resources
from collect.costs.usage import NEAR_NS, Busy, Mean, Usage, mean_over, usage_of_trial
from collect.proof.check import prove
from collect.run.directory import open_run
from collect.run.recorded import Machine
from collect.run.trials import read_trial

KNOWN = {"rx_bytes": 0, "tx_bytes": 0, "disk_read_bytes": 0, "disk_write_bytes": 0}
S = 10**9


@pytest.fixture
def trial(run_of):
    """A sealed trial, to which samples can be added."""
    plan = run_of(until=0).plan
    run = run_of(until=0, name="one")
    return seal(run.trials_directory, plan[0], [2000.0, 2000.0])


def series_of(path, *, key=("client", "")):
    trial = read_trial(path)
    return read_resources(path, trial.resources)[key]


def samples(*cores, node="client", service="", at=0.0, step=1.0):
    """A sample a step; None is a gap."""
    return [
        (at + step * place, node, service, {} if used is None else {"cpu_cores": used, **KNOWN})
        for place, used in enumerate(cores)
    ]


def test_a_mean_is_weighted_by_the_time_that_lies_in_the_measured_phase(trial):
    add_resources(trial, {"client": {}}, samples(None, 1.0, 2.0, 0.5, 0.0))
    series = series_of(trial)
    # From 0.5 to 3 s: half a second of 1.0, one of 2.0, one of 0.5.
    assert mean_over(series, "cpu_cores", (S // 2, 3 * S), None).value == pytest.approx(3.0 / 2.5)


def test_bytes_are_of_the_whole_span_however_long_a_thinned_one_is(trial):
    rows = [(0.0, "client", "", {}), (4.0, "client", "", {"rx_bytes": 8e6})]
    rows += [(5.0, "client", "", {"rx_bytes": 1e6})]
    add_resources(trial, {"client": {}}, rows)
    mean = mean_over(series_of(trial), "rx_bytes", (1 * S, 5 * S), 1e9)
    assert mean.value == pytest.approx((3 * 2e6 + 1e6) / 4)


@pytest.mark.parametrize(
    ("cores", "window", "why"),
    [
        # The counter restarted with the service: one second of ten is not known, or two.
        ((None, *[1.0] * 5, None, *[1.0] * 4), (0, 10), ""),
        ((None, *[1.0] * 5, None, None, *[1.0] * 3), (0, 10), "readings cover 80 % of"),
        ((None, *[1.0] * 9), (0, 10.04), "readings cover 89.6 % of"),
        # The series breaks off in the middle.
        ((None, 1.0, 1.0), (0, 5), "readings cover 40 % of the measured phase"),
        ((None, 1.0), (5, 6), "no readings of it in the measured phase"),
        # Three quarters of what readings cover is measured phase, or less.
        ((None, 1.0, 1.0, 1.0, 1.0), (1.3, 3.6), ""),
        ((None, 1.0, 1.0, 1.0, 1.0), (1.3, 3.5), "of 2.2 s is too short for readings of 3 s"),
        ((None, 1.0, 1.0), (0.8, 1.2), "of 0.4 s is too short for readings of 2 s"),
    ],
)
def test_a_gap_is_never_a_zero(trial, cores, window, why):
    add_resources(trial, {"client": {}}, samples(*cores))
    first, last = (round(end * S) for end in window)
    mean = mean_over(series_of(trial), "cpu_cores", (first, last), None)
    assert (mean.value is None) == bool(why)
    assert why in mean.why
    assert mean.value in (None, pytest.approx(1.0))


def test_samples_around_it_tell_of_a_phase_of_a_tenth_of_a_second(trial):
    """A node sampled each second, and right before the first and after the last measured call."""
    used = {0.0: None, 1.0: 0.1, 1.69: 0.9, 1.81: 0.5, 2.0: 0.2}
    rows = [
        (at, "client", "", {} if cores is None else {"cpu_cores": cores, **KNOWN})
        for at, cores in used.items()
    ]
    add_resources(trial, {"client": {}}, rows)
    mean = mean_over(series_of(trial), "cpu_cores", (round(1.7 * S), round(1.8 * S)), None)
    assert mean.value == pytest.approx(0.5)
    # A node that was sampled late: its bracket begins within the phase.
    late = mean_over(series_of(trial), "cpu_cores", (round(1.6 * S), round(1.8 * S)), None)
    assert "is too short for readings" in late.why


def test_samples_may_lie_a_little_beyond_a_short_phase_where_threads_call_on(trial):
    """A phase of 10 ms, sampled 60 ms before it and 20 ms after it; and one of 1 s too far away."""
    used = {0.0: None, 1.0: 0.1, 1.64: 0.9, 1.73: 0.5, 2.0: 0.2}
    rows = [
        (at, "client", "", {} if cores is None else {"cpu_cores": cores, **KNOWN})
        for at, cores in used.items()
    ]
    add_resources(trial, {"client": {}}, rows)
    short = (series_of(trial), "cpu_cores", (round(1.70 * S), round(1.71 * S)), None)
    assert "is too short for readings" in mean_over(*short).why
    assert mean_over(*short, NEAR_NS).value == pytest.approx(0.5)
    far = (series_of(trial), "cpu_cores", (round(1.1 * S), round(1.11 * S)), None)
    assert "is too short for readings" in mean_over(*far, NEAR_NS).why


def usage(cores, *, service="tomcat", limits=None, link=(0.0, 0.0), disk=0.0, **nodes):
    """The load: of each node (cores in use by its service, by the whole node)."""
    machines = {
        name: Machine(cores=2, boot=nodes.get(name, name), link_mbit=100, limits=limits or {})
        for name in cores
    }
    busy, none = {}, Mean(None, "no counter")
    names = {"client": "runner", "broker": "broker"}
    for name, (own, whole) in cores.items():
        received, sent = (Mean(mbit * 1e6 / 8) for mbit in link)
        written = Mean(disk)
        key = (name, names.get(name, service))
        busy[key] = Busy(Mean(own), none, none, none, none, Mean(0.01))
        busy[name, ""] = Busy(Mean(whole), received, sent, Mean(0.0), written, none)
    return Usage(machines, busy)


@pytest.mark.parametrize(
    ("found", "threads", "by", "is_bench", "says"),
    [
        # Full: from 90 % of the cores on.
        (usage({"client": (1.7, 1.8)}), 30, "client", True, "client CPU 90 % of 2 cores: the load"),
        (usage({"client": (1.6, 1.79)}), 30, "client", False, "the largest part"),
        (usage({"client": (1.794, 1.794)}), 30, "client", False, "client CPU 89.7 % of 2 cores,"),
        (usage({"client": (0.3, 0.4), "worker1": (1.9, 1.9)}), 30, "service", False, "worker1 CPU"),
        (usage({"client": (0.3, 0.4), "broker": (1.8, 1.9)}), 30, "broker", False, "broker CPU 95"),
        # One thread keeps one core busy: that is its call's time, not a bench that is too small.
        (usage({"client": (0.95, 1.0)}), 1, "client", False, "95 % of the 1 core that 1 client th"),
        (usage({"client": (0.3, 0.3), "worker1": (0.5, 0.5)}), 1, "service", False, "waiting 20 %"),
        # What is left over is waiting, when it is the largest.
        (usage({"client": (0.3, 0.3), "worker1": (0.3, 0.3)}), 1, "waiting", False, "for 40 % of"),
        # One direction of the link after the other, with one thread; either of them with more.
        (usage({"client": (0.1, 0.1)}, link=(45, 45)), 1, "network", False, "link of client 90 %"),
        (usage({"client": (0.1, 0.1)}, link=(45, 45)), 2, "waiting", False, "network 45 %"),
        (usage({"client": (0.1, 0.1)}, disk=95e6), 1, "disk", False, "95 % of the 100 MB/s ass"),
        # A client held to a tenth of a core.
        (
            usage({"client": (0.098, 0.12)}, limits={"runner": 0.1}),
            4,
            "client",
            True,
            "client CPU 98 % of the 0.1 cores that its unit may use: the load generator",
        ),
        # What other programs use is nobody's call.
        (usage({"client": (0.3, 1.9)}), 2, "shared cores", True, "other programs 80 %"),
    ],
)
def test_the_rule_at_its_edges(found, threads, by, is_bench, says):
    limit = limit_of(found, threads)
    assert (limit.by, limit.is_bench) == (by, is_bench)
    assert says in limit.text


def test_a_call_to_several_servers_uses_both_directions_of_a_link_at_once():
    found = usage({"client": (0.05, 0.05)}, link=(45, 45))
    assert limit_of(found, 1).text.endswith("the network is the limit")
    limit = limit_of(found, 1, 5)
    assert limit.by == "waiting"
    assert "network 45 %" in limit.text


def test_nodes_that_share_a_kernel_share_its_cores():
    """None of them is busy by itself; on kernels of their own they would be far from full."""
    of_one = {"client": (0.6, 0.66), "broker": (0.4, 0.5), "worker1": (0.7, 0.8)}
    limit = limit_of(usage(of_one, **dict.fromkeys(of_one, "same")), 30)
    assert (limit.by, limit.is_bench) == ("shared cores", True)
    assert limit.text.startswith("the 3 nodes share 2 cores, which were 98 % busy: client 30 %")
    assert limit_of(usage(of_one), 30).by != "shared cores"


def test_the_only_user_of_shared_cores_is_named():
    found = usage({"client": (1.85, 1.9), "worker1": (0.02, 0.05)}, client="a", worker1="a")
    limit = limit_of(found, 30)
    assert limit.by == "client"
    assert "of 2 cores, shared by 2 nodes: the load generator is the limit" in limit.text


def test_what_is_not_known_hides_nothing_and_is_named():
    partly = usage({"client": (0.5, 0.5), "worker1": (0.6, 0.6)})
    missing = {**partly.machines, "worker2": Machine(2, "x", 100, missing="its health is older")}
    limit = limit_of(Usage(missing, partly.busy), 1)
    assert (limit.by, limit.text) == ("", "not known (worker2: its health is older)")
    # What is full is full, whatever another node did.
    full = usage({"client": (1.9, 2.0)})
    assert limit_of(Usage({**full.machines, **missing}, full.busy), 4).by == "client"
    # The rate of a link matters only where calls seem to wait.
    no_rate = {"client": Machine(2, "x", None)}
    assert limit_of(Usage(no_rate, usage({"client": (0.8, 0.8)}).busy), 1).by == "client"
    limit = limit_of(Usage(no_rate, usage({"client": (0.2, 0.2)}).busy), 1)
    assert limit.by == ""
    assert "the rate of its link is not known; 80 % of the time nothing else" in limit.text
    # A disk is waited for anyway.
    waits = usage({"client": (0.2, 0.2)}, disk=None)
    assert limit_of(waits, 1).by == "waiting"
    assert limit_of(waits, 1).text.endswith("; the use of disks is unknown on client")


def one_cell(run_of, servers, replicates):
    """A run of one cell, with two calls of 2 s a trial."""
    study = changed(
        factors={"transport": ["soap"], "servers": [servers], "integers": [500]},
        profiles={"demo": {"replicates": replicates, "calls": 2, "warmup": 1}},
        where=[],
    )
    return run_of(lambda planned, rng: [2000.0, 2000.0], study=study)


@pytest.fixture
def busy_run(run_of):
    """Two trials of a cell with two calls of 2 s each, from 2 s on, one thread."""
    run = one_cell(run_of, servers=1, replicates=2)
    for planned, share in zip(run.plan, (0.4, 0.6), strict=True):
        rows = samples(None, *[share] * 12, service="runner")
        rows += samples(None, *[0.7] * 12)
        rows += samples(None, *[0.2] * 12, node="worker1", service="tomcat")
        rows += samples(None, *[0.25] * 12, node="worker1")
        add_resources(run.trials_directory / planned.id, {"client": {}, "worker1": {}}, rows)
    return run


def test_a_cell_has_the_mean_over_its_trials_and_the_processor_time_of_a_call(busy_run):
    (cell,) = analyse(busy_run).cells
    assert cell.usage.busy["client", "runner"].cores.value == pytest.approx(0.5)
    assert cell.limit.by == "client"
    cpu = {name: mean.value for name, mean in cell.cpu_a_call.items()}
    # A call every 2 s, but for a microsecond between calls.
    assert cpu["client"] == pytest.approx(0.5 * 2000, rel=1e-5)
    assert cpu["service"] == pytest.approx(0.2 * 2000, rel=1e-5)
    assert cpu["nodes"] == pytest.approx(0.95 * 2000, rel=1e-5)
    assert cpu["broker"] is None


def test_a_mean_over_half_of_the_trials_is_known(busy_run):
    trials = [busy_run.trials_directory / planned.id for planned in busy_run.plan]
    (trials[0] / "resources.csv").unlink()
    (cell,) = analyse(busy_run).cells
    assert cell.usage.busy["client", "runner"].cores.value == pytest.approx(0.6)
    assert cell.cpu_a_call["client"].value == pytest.approx(0.6 * 2000, rel=1e-5)
    (trials[1] / "resources.csv").unlink()
    (cell,) = analyse(busy_run).cells
    assert "cannot be read" in cell.usage.why


def test_the_time_of_all_nodes_is_not_known_where_one_of_them_is_not(busy_run):
    for planned in busy_run.plan:
        rows = samples(None, *[0.4] * 12, service="runner") + samples(None, *[0.7] * 12)
        nodes = {"client": {}, "worker1": {"missing": "its health service is older"}}
        add_resources(busy_run.trials_directory / planned.id, nodes, rows)
    (cell,) = analyse(busy_run).cells
    assert cell.cpu_a_call["client"].value == pytest.approx(0.4 * 2000, rel=1e-5)
    assert cell.cpu_a_call["nodes"].value is None
    assert cell.cpu_a_call["nodes"].why == "its health service is older"


def test_a_file_that_is_not_the_sealed_one_is_a_gap(busy_run):
    for planned in busy_run.plan:
        path = busy_run.trials_directory / planned.id / "resources.csv"
        path.write_text(path.read_text().replace("0.7", "0.1"))
    (cell,) = analyse(busy_run).cells
    assert cell.limit.text == "not known (resources.csv is not the file that was sealed)"
    (busy_run.trials_directory / busy_run.plan[0].id / "resources.csv").unlink()
    usage = usage_of_trial(analyse(busy_run).cells[0].counted[0])
    assert usage.why == "resources.csv cannot be read (No such file or directory)"


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ((1.0, "client", "", {"cpu_cores": -1}), "a negative or infinite amount"),
        ((0.0, "client", "", {}), "two readings of client at the same time"),
        ((4e8, "client", "", {}), "a time that is longer than a year"),
        ((1.0, "client", "", {"cpu_cores": "x"}), "a row that cannot be read"),
    ],
)
def test_samples_that_cannot_be_are_a_gap(busy_run, row, why):
    directory = busy_run.trials_directory / busy_run.plan[0].id
    add_resources(directory, {"client": {}}, [*samples(None), row])
    assert why in usage_of_trial(analyse(busy_run).cells[0].counted[0]).why


def test_cells_written_before_limits_were_known_remain_proven(busy_run):
    path = busy_run.directory / "cells.csv"
    write_cells(path, busy_run, analyse(busy_run).cells)
    head, row = (line.rsplit(",", 4)[0] for line in path.read_text().splitlines())
    assert head.endswith(",calls_per_s_high,limited_by")
    assert row.endswith(",client")
    assert [f for f in prove(busy_run).findings if f.kind == "cells"] == []
    path.write_text(f"{head}\n{row.removesuffix('client')}broker\n")
    (finding,) = [f for f in prove(busy_run).findings if f.kind == "cells"]
    assert "limited_by broker, but the trials give client" in finding.text
    path.write_text("\n".join(line.rpartition(",")[0] for line in (head, row)) + "\n")
    assert [f for f in prove(busy_run).findings if f.kind == "cells"] == []


def test_cells_whose_link_was_added_up_for_several_servers_remain_proven(run_of):
    run = one_cell(run_of, servers=3, replicates=1)
    sent = {"cpu_cores": 0.1, **KNOWN, "rx_bytes": 5e6, "tx_bytes": 5e6}
    rows = samples(None, *[0.1] * 12, service="runner")
    rows += [(at, "client", "", sent if at else {}) for at in range(13)]
    add_resources(run.trials_directory / run.plan[0].id, {"client": {}}, rows)
    (cell,) = analyse(run).cells
    earlier = replace(cell, servers=1)
    assert (cell.servers, cell.limit.by, earlier.limit.by) == (3, "waiting", "network")
    write_cells(run.directory / "cells.csv", run, [earlier])
    assert [f for f in prove(run).findings if f.kind == "cells"] == []


def test_a_trial_of_an_earlier_version_has_no_limit(run_of):
    cells = analyse(run_of(until=3)).cells
    assert not any(cell.has_resources or cell.parts for cell in cells)
    assert {cell.limit.text for cell in cells} == {"not known (not recorded)"}


def test_parts_are_means_over_calls_then_trials_and_the_rest_is_what_no_mark_covers(busy_run):
    first, second = (busy_run.trials_directory / planned.id for planned in busy_run.plan)
    ms = 10**6
    add_parts(first, [(1, 100 * ms, 0, 1500 * ms, 300 * ms), (2, 300 * ms, 0, 1500 * ms, 100 * ms)])
    add_parts(second, [(1, 0, 200 * ms, 1700 * ms, 100 * ms)] * 2)
    parts = analyse(busy_run).cells[0].parts
    assert parts.parts == {"serialise": 100, "send": 100, "wait": 1600, "parse": 150}
    assert parts.rest == pytest.approx(50)
    assert parts.total == pytest.approx(2000)
    add_parts(second, [(1, 0, 0, 0, 0)])
    parts = analyse(busy_run).cells[0].parts
    assert (parts.trials, parts.parts["serialise"]) == (1, 200)
    record = json.loads((first / "trial.json").read_text())
    record["parts"]["sha256"] = "0" * 64
    (first / "trial.json").write_text(json.dumps(record))
    parts = analyse(open_run(str(busy_run.directory))).cells[0].parts
    assert (parts.trials, parts.parts) == (0, {})
    assert "changed after sealing" in parts.why
