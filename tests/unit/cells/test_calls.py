"""Reading: each log once, the same numbers as a slow reader, and a cache that is never believed."""

import csv
import errno
import io
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from synthetic import reseal, seal, sort_times

from collect.cells import cache, calls, logs
from collect.cells.analysis import analyse
from collect.cells.cells import cells_csv
from collect.cells.summaries import measure
from collect.run.directory import open_run
from collect.run.trials import CALLS_HEADER, TrialError, read_trial

_opened: list[str] = []
sys.addaudithook(lambda event, args: _opened.append(str(args[0])) if event == "open" else None)


@pytest.fixture
def opened():
    """Give a function that gives the ids of the trials whose logs were opened, and forgets them."""

    def take():
        names = [Path(path).parent.name for path in _opened if path.endswith("calls.csv")]
        _opened.clear()
        return names

    return take


@pytest.fixture(params=[1, 2000, logs._BATCH_BYTES])
def _any_batch(request, monkeypatch):
    monkeypatch.setattr(logs, "_BATCH_BYTES", request.param)


def table_of(run):
    analysis = analyse(open_run(str(run.directory)))
    assert not analysis.findings
    return cells_csv(analysis.run, analysis.cells)


def messy(text, rng):
    """The rows of a log out of order, with ties, failures, intended starts and unknown sizes."""
    rows = [line.split(",") for line in text.splitlines()[1:]]
    for row in rows:
        start = int(row[4]) // 40_000_000 * 40_000_000
        row[4] = str(start)
        if rng.random() < 0.5:
            row[3] = str(max(0, start - int(rng.integers(0, 10**7))))
        row[6] = str(rng.choice(["", "-1", "12", "900"]))
        row[8] = str(rng.choice(["ok", "ok", "ok", "error", "wrong", "timeout"]))
    rng.shuffle(rows)
    return "\n".join([CALLS_HEADER, *(",".join(row) for row in rows)]) + "\n"


def row_counts(read):
    return np.diff(read.ends, prepend=0).tolist()


def slow_reading(run):
    """Times in order, errors and known request sizes of each trial, without the code under test."""
    found = {}
    for planned in run.plan:
        path = run.trials_directory / planned.id / "calls.csv"
        rows = [r for r in csv.DictReader(io.StringIO(path.read_text())) if r["phase"] == "measure"]
        rows.sort(key=lambda row: (int(row["start_ns"]), int(row["seq"])))
        good = [row for row in rows if row["status"] == "ok"]
        times = [
            int(r["elapsed_ns"])
            + (int(r["start_ns"]) - int(r["intended_ns"]) if r["intended_ns"] else 0)
            for r in good
        ]
        sizes = [int(r["request_bytes"]) for r in good if r["request_bytes"] not in {"", "-1"}]
        found[planned.id] = ([time / 1e6 for time in times], len(rows) - len(good), sizes)
    return found


@pytest.mark.usefixtures("_any_batch")
def test_numbers_are_those_of_a_slow_reader(run_of):
    rng = np.random.default_rng(3)
    run = run_of()
    for planned in run.plan:
        reseal(run.trials_directory / planned.id, lambda text: messy(text, rng))
    expected = slow_reading(run)
    for cell in analyse(run).cells:
        pooled = []
        for trial in cell.trials:
            times, errors, sizes = expected[trial.trial.id]
            summary = trial.calls
            assert (summary.calls, summary.errors) == (len(times), errors)
            assert summary.mean_ms == pytest.approx(statistics.mean(times), rel=1e-12)
            if len(times) > 1:
                assert summary.variance_ms2 == pytest.approx(statistics.variance(times), rel=1e-9)
            assert summary.request_bytes == (pytest.approx(np.mean(sizes)) if sizes else None)
            assert summary.response_bytes == 1900
            pooled += times
        assert [list(c) for c in cell.courses] == [
            pytest.approx(expected[t.trial.id][0]) for t in cell.counted
        ]
        wanted = np.percentile(pooled, [50, 99])
        assert [cell.quantiles.p50_ms, cell.quantiles.p99_ms] == pytest.approx(list(wanted))
        assert cell.quantiles.mean_ms == pytest.approx(statistics.mean(pooled), rel=1e-12)
        assert cell.quantiles.variance_ms2 == pytest.approx(statistics.variance(pooled), rel=1e-9)


def test_a_long_course_is_two_hundred_means_in_order():
    columns = {name: np.zeros(1001, np.int64) for name in CALLS_HEADER.split(",")}
    columns |= {
        "seq": np.arange(1001),
        "phase": np.ones(1001, np.int8),
        "status": np.zeros(1001, np.int8),
        "intended_ns": np.full(1001, logs.MISSING),
        "start_ns": np.arange(1001)[::-1],
        "elapsed_ns": np.arange(1001)[::-1] * 10**6,
    }
    (measured,) = measure(logs.Logs(columns, np.array([1001])))
    places = np.arange(1001)
    wanted = [places[places * 200 // 1001 == bucket].mean() for bucket in range(200)]
    assert list(measured.course_ms) == pytest.approx(wanted)


@pytest.mark.usefixtures("_any_batch")
def test_bad_logs_are_refused_alone_and_in_order(run_of):
    run = run_of()
    trials = [read_trial(run.trials_directory / planned.id) for planned in run.plan]
    torn, odd, gone = (trials[place].directory for place in (3, 5, 9))
    (torn / "calls.csv").write_bytes((torn / "calls.csv").read_bytes()[:-4])
    reseal(odd, lambda text: text.replace(",ok\n", ",ok,more\n", 1))
    trials[5] = read_trial(odd)
    (gone / "calls.csv").unlink()
    results = list(logs.map_logs(trials, row_counts, 0))
    assert [trial for trial, _ in results] == trials
    refused = {trial.id for trial, result in results if isinstance(result, TrialError)}
    assert refused == {torn.name, odd.name, gone.name}
    assert all(n == t.calls_rows for t, n in results if t.id not in refused)


def test_a_log_without_calls_is_read(run_of):
    run = run_of(lambda planned, rng: "oom")
    trials = [read_trial(run.trials_directory / planned.id) for planned in run.plan]
    assert [rows for _, rows in logs.map_logs(trials, row_counts, 0)] == [0] * 36


def test_one_more_trial_is_the_only_one_read(run_of, opened):
    run = run_of(until=35)
    opened()
    first = analyse(run)
    assert sorted(opened()) == sorted(planned.id for planned in run.plan[:35])
    new = run.plan[35]
    seal(run.trials_directory, new, [7.0] * new.calls)
    opened()
    second = analyse(open_run(str(run.directory)))
    assert opened() == [new.id]
    assert second.sealed == first.sealed + 1
    touched = run.levels(new.factors)
    for before, after in zip(first.cells, second.cells, strict=True):
        assert (before.samples == after.samples) == (before.levels != touched)
    again = table_of(run)
    assert opened() == []
    shutil.rmtree(run.directory / cache.DIRECTORY)
    assert table_of(run) == again


def test_reading_loads_no_pandas(run_of):
    # Arrow loads it unasked, in a fifth of a second, where it is given lists or asked for NumPy.
    code = """
import sys
from collect.cells.analysis import analyse
from collect.run.directory import open_run
for _ in range(2):
    assert analyse(open_run(sys.argv[1])).sealed == 36
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code, str(run_of().directory)], check=True)


def test_a_run_without_a_good_call_is_held_too(run_of, opened):
    run = run_of(lambda planned, rng: "oom")
    before = table_of(run)
    opened()
    assert table_of(run) == before
    assert opened() == []


def test_a_changed_log_is_read_again_and_refused(run_of, opened):
    run = run_of()
    analyse(run)
    path = run.trials_directory / run.plan[0].id / "calls.csv"
    path.write_text(path.read_text().replace(",ok", ",oK", 1))
    opened()
    analysis = analyse(run)
    assert opened() == [run.plan[0].id]
    assert [finding.kind for finding in analysis.findings] == ["refused"]
    assert analysis.sealed == len(run.plan) - 1


def test_a_log_with_another_seal_is_read_again(run_of, opened):
    run = run_of()
    analyse(run)
    directory = run.trials_directory / run.plan[0].id
    status = (directory / "calls.csv").stat()
    reseal(directory, lambda text: text.replace(",2000,", ",3000,"))
    os.utime(directory / "calls.csv", ns=(status.st_atime_ns, status.st_mtime_ns))
    opened()
    table_of(run)
    assert opened() == [run.plan[0].id]


def spoil(path, place):
    content = bytearray(path.read_bytes())
    content[place * len(content) // 100] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("kind", ["json", "arrow", "times"])
@pytest.mark.parametrize("place", [0, 30, 60, 99])
def test_a_spoilt_cache_is_made_again(run_of, opened, kind, place):
    run = run_of()
    before = table_of(run)
    (file,) = (run.directory / cache.DIRECTORY).glob(f"*.{kind}")
    spoil(file, place)
    opened()
    assert table_of(run) == before
    assert len(opened()) == len(run.plan)
    assert table_of(run) == before
    assert opened() == []


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"null", b'{"layout": 2, "index": 3}'])
def test_a_useless_manifest_is_made_again(run_of, content):
    run = run_of()
    before = table_of(run)
    (run.directory / cache.DIRECTORY / "cache.json").write_bytes(content)
    assert table_of(run) == before


def test_the_cache_of_another_run_is_not_believed(run_of, opened):
    run, other = run_of(), run_of(lambda planned, rng: [1.0] * planned.calls, name="other")
    expected = table_of(run)
    table_of(other)
    shutil.rmtree(run.directory / cache.DIRECTORY)
    shutil.copytree(other.directory / cache.DIRECTORY, run.directory / cache.DIRECTORY)
    opened()
    assert table_of(run) == expected
    assert len(opened()) == len(run.plan)


def test_a_lost_part_costs_its_own_trials_alone(run_of, opened):
    run = run_of(until=35)
    analyse(run)
    (first,) = (run.directory / cache.DIRECTORY).glob("*.times")
    seal(run.trials_directory, run.plan[35], [7.0] * run.plan[35].calls)
    expected = table_of(run)
    (second,) = set((run.directory / cache.DIRECTORY).glob("*.times")) - {first}
    second.unlink()
    opened()
    assert table_of(run) == expected
    assert opened() == [run.plan[35].id]


def test_many_parts_become_one_without_reading_logs(run_of, opened, monkeypatch):
    monkeypatch.setattr(cache, "_MOST_PARTS", 3)
    monkeypatch.setattr(cache, "_KEPT_S", -1)
    run = run_of(until=10)
    analyse(run)
    for planned in run.plan[10:15]:
        seal(run.trials_directory, planned, sort_times(planned, np.random.default_rng(1)))
        opened()
        analysis = analyse(run)
        assert opened() == [planned.id]
    assert len(list((run.directory / cache.DIRECTORY).glob("*.times"))) <= 4
    expected = cells_csv(run, analysis.cells)
    shutil.rmtree(run.directory / cache.DIRECTORY)
    assert cells_csv(run, analyse(run).cells) == expected


def test_a_reading_that_breaks_off_leaves_the_cache_as_it_was(run_of, opened, monkeypatch):
    run = run_of(until=30)
    analyse(run)
    directory = run.directory / cache.DIRECTORY
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    for planned in run.plan[30:]:
        seal(run.trials_directory, planned, [7.0] * planned.calls)

    def break_off(trials, function, rows):
        yield from list(logs.map_logs(trials, function, rows))[:3]
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(calls, "map_logs", break_off)
        with pytest.raises(OSError, match="No space left"):
            analyse(run)
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == before
    opened()
    assert analyse(run).sealed == len(run.plan)
    assert opened() == [planned.id for planned in run.plan[30:]]


def test_a_trial_that_goes_away_leaves_the_cache(run_of):
    run = run_of()
    analyse(run)
    (run.trials_directory / run.plan[0].id).rename(run.directory / "elsewhere")
    assert analyse(run).sealed == len(run.plan) - 1
    assert run.plan[0].id not in cache.Cache(run.directory).entries
