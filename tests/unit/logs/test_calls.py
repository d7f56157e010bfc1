"""Reading: the same numbers as a slow reader, and a cache that is never trusted."""

import csv
import errno
import gzip
import hashlib
import io
import os
import shutil
import statistics
import time

import numpy as np
import pytest
from pyarrow import ipc
from synthetic import reseal, seal

from collect.cells.analysis import analyse
from collect.cells.cells import cells_csv
from collect.logs import calls
from collect.logs.cache import DIRECTORY, Cache
from collect.logs.calls import prove_calls
from collect.logs.columns import MISSING
from collect.logs.summaries import count_calls
from collect.run.directory import open_run
from collect.run.trials import CALLS_HEADER, read_trial


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


def read_again(run):
    """Return the trials whose logs another analysis reads: it refuses them when all are spoilt.

    The spoilt logs are those of a copy, and keep their size and time of change.
    """
    copy = run.directory.with_name("spoilt")
    shutil.copytree(run.directory, copy)
    for log in copy.glob("trials/*/calls.csv"):
        status = log.stat()
        log.write_bytes(bytes(status.st_size))
        os.utime(log, ns=(status.st_atime_ns, status.st_mtime_ns))
    findings = analyse(open_run(str(copy))).findings
    shutil.rmtree(copy)
    return {finding.subject for finding in findings if finding.kind == "refused"}


def ids(run, until=None):
    return {planned.id for planned in run.plan[:until]}


def slow_reading(run):
    """Times in order, errors and known request sizes of each trial, without the code under test."""
    found = {}
    for planned in run.plan:
        path = run.trials_directory / planned.id / "calls.csv"
        rows = [r for r in csv.DictReader(io.StringIO(path.read_text())) if r["phase"] == "measure"]
        rows.sort(key=lambda row: (int(row["start_ns"]), int(row["seq"])))
        good = [row for row in rows if row["status"] == "ok"]
        times = [int(row["elapsed_ns"]) for row in good]
        sizes = [int(r["request_bytes"]) for r in good if r["request_bytes"] not in {"", "-1"}]
        found[planned.id] = ([time / 1e6 for time in times], len(rows) - len(good), sizes)
    return found


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
        assert [list(trial.course_ms) for trial in cell.counted] == [
            pytest.approx(expected[t.trial.id][0]) for t in cell.counted
        ]
        wanted = np.percentile(pooled, [50, 99])
        assert [cell.pooled.p50_ms, cell.pooled.p99_ms] == pytest.approx(list(wanted))
        assert cell.pooled.mean_ms == pytest.approx(statistics.mean(pooled), rel=1e-12)
        assert cell.pooled.variance_ms2 == pytest.approx(statistics.variance(pooled), rel=1e-9)


def test_a_long_course_is_two_hundred_means_in_order():
    columns = {name: np.zeros(1001, np.int64) for name in CALLS_HEADER.split(",")}
    columns |= {
        "seq": np.arange(1001),
        "phase": np.ones(1001, np.int32),
        "status": np.zeros(1001, np.int32),
        "intended_ns": np.full(1001, MISSING),
        "start_ns": np.arange(1001)[::-1],
        "elapsed_ns": np.arange(1001)[::-1] * 10**6,
    }
    places = np.arange(1001)
    wanted = [places[places * 200 // 1001 == bucket].mean() for bucket in range(200)]
    assert list(count_calls(columns).course_ms) == pytest.approx(wanted)


def test_bad_logs_are_refused_alone_and_in_order(run_of):
    run = run_of()
    torn, odd, gone = (run.trials_directory / run.plan[place].id for place in (3, 5, 9))
    (torn / "calls.csv").write_bytes((torn / "calls.csv").read_bytes()[:-4])
    reseal(odd, lambda text: text.replace(",ok\n", ",ok,more\n", 1))
    (gone / "calls.csv").unlink()
    trials = [read_trial(run.trials_directory / planned.id) for planned in run.plan]
    calls = prove_calls(trials)
    assert [finding.subject for finding in calls.findings] == [torn.name, odd.name, gone.name]
    assert list(calls.counted) == [
        trial.id for place, trial in enumerate(trials) if place not in {3, 5, 9}
    ]


def test_a_log_without_calls_is_read(run_of):
    run = run_of(lambda planned, rng: "oom")
    trials = [read_trial(run.trials_directory / planned.id) for planned in run.plan]
    calls = prove_calls(trials)
    assert not calls.findings
    assert {counted.summary.calls for counted in calls.counted.values()} == {0}


def test_packed_logs_give_the_same_cells(run_of):
    run, packed = run_of(), run_of(name="packed")
    for log in packed.directory.glob("trials/*/calls.csv"):
        log.with_name("calls.csv.gz").write_bytes(gzip.compress(log.read_bytes()))
        log.unlink()
    assert table_of(packed) == table_of(run)


def test_one_more_trial_is_the_only_one_read(run_of):
    run = run_of(until=35)
    assert read_again(run) == ids(run, 35)
    first = analyse(run)
    new = run.plan[35]
    seal(run.trials_directory, new, [7.0] * new.calls)
    assert read_again(run) == {new.id}
    second = analyse(open_run(str(run.directory)))
    assert second.sealed == first.sealed + 1
    touched = new.factors
    for before, after in zip(first.cells, second.cells, strict=True):
        assert (before.samples == after.samples) == (before.cell != touched)
    again = table_of(run)
    assert read_again(run) == set()
    shutil.rmtree(run.directory / DIRECTORY)
    assert table_of(run) == again


def test_a_changed_log_is_read_again_and_refused(run_of):
    run = run_of()
    analyse(run)
    path = run.trials_directory / run.plan[0].id / "calls.csv"
    path.write_text(path.read_text().replace(",ok", ",oK", 1))
    analysis = analyse(run)
    assert [(f.kind, f.subject) for f in analysis.findings] == [("refused", run.plan[0].id)]
    assert analysis.sealed == len(run.plan) - 1


def test_a_log_with_another_seal_is_read_again(run_of):
    run = run_of()
    analyse(run)
    directory = run.trials_directory / run.plan[0].id
    status = (directory / "calls.csv").stat()
    reseal(directory, lambda text: text.replace(",2000,", ",3000,"))
    os.utime(directory / "calls.csv", ns=(status.st_atime_ns, status.st_mtime_ns))
    cells = analyse(run).cells
    (trial,) = (t for cell in cells for t in cell.trials if t.trial.id == run.plan[0].id)
    assert trial.calls.request_bytes == 3000


def test_a_log_of_another_size_is_read_again_although_its_time_of_change_is_the_same(run_of):
    run = run_of()
    analyse(run)
    log = run.trials_directory / run.plan[0].id / "calls.csv"
    status = log.stat()
    log.write_bytes(log.read_bytes()[:-7])
    os.utime(log, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert [finding.subject for finding in analyse(run).findings] == [run.plan[0].id]


def test_a_file_of_another_layout_is_not_used(run_of):
    run = run_of()
    analyse(run)
    sha256 = read_trial(run.trials_directory / run.plan[0].id).calls_sha256
    path = run.directory / DIRECTORY / f"{sha256}.arrow"
    row = ipc.open_stream(path.read_bytes()[32:]).read_all()
    with ipc.new_stream(sink := io.BytesIO(), row.schema.with_metadata({"layout": "3"})) as writer:
        writer.write_table(row.replace_schema_metadata({"layout": "3"}))
    path.write_bytes(hashlib.sha256(sink.getvalue()).digest() + sink.getvalue())
    assert read_again(run) == {run.plan[0].id}


@pytest.mark.parametrize("place", range(0, 100, 9))
def test_a_spoilt_file_of_the_cache_is_made_again(run_of, place):
    run = run_of()
    before = table_of(run)
    spoilt = {}
    for trial in (run.plan[7].id, run.plan[20].id):
        sha256 = read_trial(run.trials_directory / trial).calls_sha256
        path = run.directory / DIRECTORY / f"{sha256}.arrow"
        content = bytearray(path.read_bytes())
        content[place * len(content) // 100] ^= 1
        spoilt[path] = bytes(content)
        path.write_bytes(content)
    assert read_again(run) == {run.plan[7].id, run.plan[20].id}
    assert table_of(run) == before
    assert not any(path.read_bytes() == content for path, content in spoilt.items())
    assert read_again(run) == set()


@pytest.mark.parametrize("content", [b"", b"\0" * 32, b"\0" * 1000])
def test_a_useless_file_of_the_cache_is_made_again(run_of, content):
    run = run_of()
    before = table_of(run)
    for path in (run.directory / DIRECTORY).iterdir():
        path.write_bytes(content)
    assert table_of(run) == before
    assert read_again(run) == set()


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_run_that_may_only_be_read_is_analysed_without_a_cache(run_of, monkeypatch, number):
    def refuse(cache, stamp, counted):
        raise OSError(number, os.strerror(number), str(run.directory / DIRECTORY))

    run = run_of()
    expected = table_of(run)
    shutil.rmtree(run.directory / DIRECTORY)
    monkeypatch.setattr(Cache, "write", refuse)
    assert table_of(run) == expected


def test_a_full_disk_is_told_when_the_cache_is_written(run_of, monkeypatch):
    def refuse(cache, stamp, counted):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    run = run_of()
    monkeypatch.setattr(Cache, "write", refuse)
    with pytest.raises(OSError, match="No space"):
        analyse(run)


def test_the_cache_of_another_run_is_not_trusted(run_of):
    run, other = run_of(), run_of(lambda planned, rng: [1.0] * planned.calls, name="other")
    expected = table_of(run)
    table_of(other)
    wrong = sorted((other.directory / DIRECTORY).iterdir())
    right = sorted((run.directory / DIRECTORY).iterdir())
    for mine, theirs in zip(right, wrong * len(right), strict=False):
        shutil.copyfile(theirs, mine)
    assert read_again(run) == ids(run)
    assert table_of(run) == expected


def test_the_cache_of_an_earlier_version_goes(run_of):
    run = run_of()
    directory = run.directory / DIRECTORY
    directory.mkdir()
    for name in ("cache.json", "0123456789abcdef.times", "0123456789abcdef.arrow"):
        (directory / name).write_text('{"layout": 3}')
    before = table_of(run)
    assert {path.suffix for path in directory.iterdir()} == {".arrow"}
    assert len(list(directory.iterdir())) == len(run.plan)
    assert table_of(run) == before


def test_what_a_killed_report_began_to_write_goes_and_what_another_writes_stays(run_of):
    run = run_of()
    analyse(run)
    left, young = (run.directory / DIRECTORY / f"{name}.part" for name in ("left", "young"))
    for path in (left, young):
        path.write_bytes(b"a part")
    yesterday = time.time() - 86_400
    os.utime(left, (yesterday, yesterday))
    analyse(run)
    assert (left.exists(), young.exists()) == (False, True)


def test_a_reading_that_breaks_off_costs_nothing_but_time(run_of):
    run = run_of()

    def break_off(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        analyse(run, break_off)
    expected = cells_csv(run, analyse(run).cells)
    shutil.rmtree(run.directory / DIRECTORY)
    assert table_of(run) == expected


def test_a_trial_that_goes_away_leaves_the_cache(run_of):
    run = run_of()
    analyse(run)
    assert Cache(run.directory).ids() == ids(run)
    (run.trials_directory / run.plan[0].id).rename(run.directory / "elsewhere")
    assert analyse(run).sealed == len(run.plan) - 1
    assert Cache(run.directory).ids() == ids(run) - {run.plan[0].id}


def test_logs_of_many_trials_are_read_as_those_of_few(run_of, monkeypatch):
    run = run_of()
    torn = run.trials_directory / run.plan[5].id / "calls.csv"
    torn.write_bytes(torn.read_bytes()[:-7])
    trials = [read_trial(run.trials_directory / planned.id) for planned in run.plan]
    alone = prove_calls(trials)
    monkeypatch.setattr(calls, "FEWEST_FOR_PROCESSES", 1)
    together = prove_calls(trials)
    assert together.findings == alone.findings
    assert [finding.subject for finding in alone.findings] == [run.plan[5].id]
    summaries = [
        {name: counted.summary for name, counted in found.counted.items()}
        for found in (together, alone)
    ]
    assert summaries[0] == summaries[1]
