"""Processes that read: the same as without them, whatever becomes of them, and none left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from synthetic import reseal

from collect.cells import logs
from collect.cells.analysis import analyse
from collect.cells.calls import find_bad_rows
from collect.cells.cells import cells_csv
from collect.cells.readers import readers
from collect.cells.summaries import measure
from collect.run.trials import TrialError, read_trial

_opened: list[str] = []
sys.addaudithook(lambda event, args: _opened.append(str(args[0])) if event == "open" else None)


def process_of(argument):
    print("noise on standard output")
    return os.getpid(), argument


def die_unless(home):
    if home not in {None, os.getpid()}:
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def fail(argument):
    raise ValueError(argument)


def is_gone(process):
    return not Path(f"/proc/{process}").exists()


def is_done(process):
    return is_gone(process) or ") Z " in Path(f"/proc/{process}/stat").read_text()


@pytest.fixture
def many(monkeypatch):
    """Let a few short logs be worth processes, on any machine."""
    monkeypatch.setattr(logs, "_MUCH_BYTES", 1)
    monkeypatch.setattr(logs, "_BATCH_BYTES", 2000)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})


def logs_opened_here():
    names = [path for path in _opened if path.endswith("calls.csv")]
    _opened.clear()
    return names


def test_a_reader_is_another_process_and_the_same_each_time():
    with readers(1, process_of) as apply:
        process, argument = apply({"a": 1})
        assert process != os.getpid()
        assert argument == {"a": 1}
        assert apply(None)[0] == process
    assert is_gone(process)
    assert apply(None)[0] == os.getpid()


def test_readers_are_as_many_as_asked_for():
    with readers(3, process_of) as apply:
        assert len({apply(None)[0] for _ in range(6)} - {os.getpid()}) == 3


def test_a_reader_that_is_killed_costs_nothing_but_time():
    with readers(2, die_unless) as apply:
        assert apply(None) != os.getpid()
        assert [apply(os.getpid()) for _ in range(2)] == [os.getpid()] * 2
        assert apply(None) == os.getpid()
    assert children() == []


def test_readers_that_cannot_start_are_not_needed(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with readers(2, process_of) as apply:
        assert [apply(1) for _ in range(3)] == [(os.getpid(), 1)] * 3


def test_what_fails_there_fails_here():
    with readers(1, fail) as apply, pytest.raises(ValueError, match="the reason"):
        apply("the reason")


def test_a_reader_takes_no_module_from_the_working_directory(tmp_path, monkeypatch):
    for name in ("collect", "numpy", "pickle"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('found')\n")
    monkeypatch.chdir(tmp_path)
    with readers(1, process_of) as apply:
        assert apply(None)[0] != os.getpid()


def test_readers_end_with_the_process_that_started_them():
    code = """
import os, signal
from collect.cells.readers import readers
from test_readers import children, process_of
with readers(2, process_of) as apply:
    (source,) = children()
    print(source, apply(None)[0], apply(None)[0], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    processes = done.stdout.split()
    assert len(set(processes)) == 3
    # It may take a moment to see that nobody is there, and then to be waited for.
    for _ in range(200):
        if all(is_done(process) for process in processes):
            return
        signal.sigtimedwait([], 0.05)
    pytest.fail("a reader is still there")


@pytest.mark.usefixtures("many")
def test_cells_are_the_same_from_other_processes(run_of, monkeypatch):
    run, same = run_of(), run_of(name="same")
    logs_opened_here()
    analysis = analyse(run)
    assert logs_opened_here() == []
    assert not analysis.findings
    with monkeypatch.context() as patch:
        patch.setattr(os, "sched_getaffinity", lambda process: {0})
        alone = analyse(same)
        assert len(logs_opened_here()) == len(run.plan)
    assert cells_csv(run, analysis.cells) == cells_csv(run, alone.cells)


@pytest.mark.usefixtures("many")
def test_findings_are_the_same_from_other_processes(run_of, monkeypatch):
    run = run_of()
    trials = [read_trial(run.trials_directory / planned.id) for planned in run.plan]
    torn, odd, changed, gone, twice = (trials[place].directory for place in (3, 5, 7, 9, 11))
    (torn / "calls.csv").write_bytes((torn / "calls.csv").read_bytes()[:-4])
    reseal(odd, lambda text: text.replace(",ok\n", ",ok,more\n", 1))
    (changed / "calls.csv").write_text((changed / "calls.csv").read_text().replace(",ok", ",oK", 1))
    (gone / "calls.csv").unlink()
    reseal(twice, lambda text: text.replace("\n1,", "\n0,", 1))
    trials = [read_trial(run.trials_directory / planned.id) for planned in run.plan]
    there = list(logs.map_logs(trials, measure, 1))
    assert [trial for trial, _ in there] == trials
    findings = find_bad_rows(trials)
    monkeypatch.setattr(logs, "_MUCH_BYTES", 1 << 30)
    here = list(logs.map_logs(trials, measure, 1))
    wanted = [str(result) for _, result in here if isinstance(result, TrialError)]
    assert len(wanted) == 5
    assert [str(result) for _, result in there if isinstance(result, TrialError)] == wanted
    assert [finding.text for finding in findings] == wanted
    assert findings == find_bad_rows(trials)


@pytest.mark.usefixtures("many")
def test_no_process_is_left_when_reading_breaks_off(run_of):
    run = run_of()
    trials = [read_trial(run.trials_directory / planned.id) for planned in run.plan]
    results = logs.map_logs(trials, measure, 1)
    next(results)
    (source,) = children()
    started = [source, *children(source)]
    assert len(started) >= 2
    results.close()
    assert children() == []
    assert all(is_gone(process) for process in started)


def children(process="self"):
    paths = Path(f"/proc/{process}/task").glob("*/children")
    return [child for path in paths for child in path.read_text().split()]
