"""Trials with a profiler: planned behind all others, never counted, drawn and compared."""

import hashlib
import json
import shutil

import pytest
from made_up_studies import changed
from synthetic import edit_json, make_run, spread

from collect.cells.analysis import analyse
from collect.cli import main
from collect.costs.profiles import collapsed, own_times
from collect.report.flames import flames_of
from collect.run.directory import open_run
from collect.run.plan import make_plan, plan_bytes
from collect.run.study import parse_study
from collect.sweep.interim import open_trials
from collect.sweep.status import read_status

STUDY = {
    "study": "orders",
    "factors": {"transport": ["soap", "jms"], "servers": [1], "integers": [500, 5000]},
    "replicates": 2,
    "calls": 8,
    "warmup": 2,
    "where": [],
}
TEXT = changed(**STUDY, profile_forks=1)
CALLS = 10


def times(planned, rng):
    return spread(10.0, planned, rng)


def steady(planned, rng):
    return [10.0 + 0.001 * planned.block] * planned.calls


def profile_of(planned):
    """2 ms a call in the client; in the service 1 ms a call, and 5 more in a loop over JMS."""
    loop = [("java/lang/Thread.run;org/rackbench/Worker.answer;org/rackbench/Worker.spin", 5.0)]
    stacks = [("java/lang/Thread.run;org/rackbench/Worker.answer", 1.0)]
    is_jms = planned.factors["transport"] == "jms"
    return {
        ("client1", "sort-jms", "client"): [("a/Main.main;a/Call.send", 2.0)],
        ("worker1", "sort-worker", "service"): stacks + loop * is_jms,
    }


def add_profiles(run, planned, stacks_of=profile_of):
    directory = run / "trials" / planned.id
    entries = []
    for (node, service, role), stacks in stacks_of(planned).items():
        entry = {"node": node, "service": service, "role": role, "event": "ctimer", "missing": ""}
        lines = (f"{stack} {round(ms * 1e6 * CALLS)}\n" for stack, ms in stacks)
        for kind, suffix, text in (
            ("stacks", "collapsed", "".join(lines)),
            ("page", "html", "<html></html>"),
            ("recording", "jfr", "FLR"),
        ):
            name = f"{node}-{service}.{suffix}"
            (directory / name).write_text(text)
            entry |= {kind: name, f"{kind}_sha256": hashlib.sha256(text.encode()).hexdigest()}
        entries.append(entry)
    edit_json(directory / "trial.json", profiles=entries)


@pytest.fixture
def run(tmp_path):
    """A run whose four cells have two blocks and a trial with a profiler each."""
    directory = tmp_path / "night"
    for planned in make_run(directory, times, profile="paper", study=TEXT):
        if planned.profiled:
            add_profiles(directory, planned)
    return directory


def test_profiled_trials_come_last_and_change_no_other():
    with_them, without = (
        make_plan(parse_study(text, "x").profile("paper", 5)) for text in (TEXT, changed(**STUDY))
    )
    assert plan_bytes(with_them[:8]) == plan_bytes(without)
    assert [(trial.block, trial.profiled, trial.id[:3]) for trial in with_them[8:]] == [
        (3, True, "p03")
    ] * 4
    assert {trial.factors for trial in with_them[8:]} == {trial.factors for trial in without}
    assert len({trial.id for trial in with_them}) == 12


def test_they_are_in_no_number_and_in_the_proof(run, capsys):
    analysis = analyse(open_run(str(run)))
    assert [len(cell.trials) for cell in analysis.cells] == [2] * 4
    assert main(["report", str(run)]) == 0
    assert main(["check", str(run)]) == 0
    assert "12 of 12 trials sealed and verified; no findings" in capsys.readouterr().out
    assert len((run / "cells.csv").read_text().splitlines()) == 5
    assert ",2,16," in (run / "cells.csv").read_text()
    status = read_status(open_run(str(run)))
    assert (status.total, status.profiled, status.remaining) == (12, 4, 0)


def test_a_missing_one_is_open_but_the_run_has_all_that_counts(run, capsys):
    (gone,) = [
        t.id
        for t in open_run(str(run)).profiled
        if dict(t.factors) == {"transport": "jms", "servers": 1, "integers": 500}
    ]
    shutil.rmtree(run / "trials" / gone)
    assert open_trials(run) == [gone]
    assert main(["check", str(run)]) == 1
    assert f"missing: {gone}" in capsys.readouterr().out
    main(["report", str(run)])
    page = (run / "report.html").read_text()
    assert "The run is not finished" not in page
    assert "its trial with a profiler is not sealed" in page


def test_a_run_that_stopped_is_profiled_after_its_look(tmp_path):
    stop = {"half_width": 0.5, "looks": [2, 4]}
    text = changed(**{**STUDY, "replicates": 4}, stop=stop, profile_forks=1)
    make_run(tmp_path / "run", steady, profile="paper", study=text, until=8)
    for look in (2, 4):
        after = open_trials(tmp_path / "run", look)
        assert len(after) == 4
        assert all(name.startswith("p05") for name in after)
    assert len(open_run(str(tmp_path / "run")).plan) == 8


def test_the_difference_names_the_loop(run):
    flames = flames_of(analyse(open_run(str(run))), "transport")
    assert [one.title for one in flames.differences] == [
        "transport soap → jms at 1, 500",
        "transport soap → jms at 1, 5 000".replace(" 000", "\N{NARROW NO-BREAK SPACE}000"),
    ]
    difference = flames.differences[0]
    assert difference.first.totals == pytest.approx({"client": 2.0, "sort-worker": 1.0})
    assert difference.second.totals == pytest.approx({"sort-worker": 6.0, "client": 2.0})
    change = difference.changes[0]
    assert (change.program, change.frame) == ("sort-worker", "org.rackbench.Worker.spin")
    assert change.by == pytest.approx(5.0)
    boxes = {box.name: box for box in difference.graph.boxes}
    assert boxes["org.rackbench.Worker.spin"].change == pytest.approx(5 / 8)
    assert boxes["a.Call.send"].change == pytest.approx(0)
    assert boxes["client"].width == pytest.approx(100 * 4 / 11)
    assert boxes["all"].width == pytest.approx(100)


def test_a_profile_that_is_missing_or_changed_is_a_gap(run, capsys):
    one, two = open_run(str(run)).profiled[:2]
    path = run / "trials" / one.id / "trial.json"
    record = json.loads(path.read_text())
    record["profiles"][1] = {**record["profiles"][1], "missing": "the kernel refuses timers"}
    path.write_text(json.dumps(record))
    (run / "trials" / two.id / "worker1-sort-worker.collapsed").write_text("a 1\n")
    flames = flames_of(analyse(open_run(str(run))), None)
    cells = {one.profile.cell: one.profile for one in flames.cells}
    assert cells[one.factors].gaps == ("sort-worker on worker1: the kernel refuses timers",)
    assert set(cells[one.factors].totals) == {"client"}
    assert "not as it was sealed" in cells[two.factors].gaps[0]
    assert main(["check", str(run)]) == 1
    assert f"refused: {two.id}: worker1-sort-worker.collapsed" in capsys.readouterr().out


def test_a_recording_may_be_removed_but_not_changed(run, capsys):
    trial = open_run(str(run)).profiled[0].id
    recording = run / "trials" / trial / "worker1-sort-worker.jfr"
    whole = flames_of(analyse(open_run(str(run))), None)
    recording.unlink()
    assert main(["check", str(run)]) == 0
    without = flames_of(analyse(open_run(str(run))), None)
    assert [one.profile.stacks for one in without.cells] == [o.profile.stacks for o in whole.cells]
    links = [link for one in without.cells for link in one.profile.links if link.trial == trial]
    assert {link.text: link.recording for link in links} == {
        "sort-jms on client1": "client1-sort-jms.jfr",
        "sort-worker on worker1": None,
    }
    recording.write_text("FLR2")
    assert main(["check", str(run)]) == 1
    assert f"refused: {trial}: worker1-sort-worker.jfr" in capsys.readouterr().out


def test_calls_of_a_trial_without_the_profile_of_a_program_make_it_no_cheaper(tmp_path):
    def of_services(planned):
        return {who: stacks for who, stacks in profile_of(planned).items() if who[2] == "service"}

    run, text = tmp_path / "run", changed(**STUDY, profile_forks=2)
    for planned in make_run(run, times, profile="paper", study=text):
        if planned.profiled:
            add_profiles(run, planned, of_services if planned.block == 4 else profile_of)
    for cell in flames_of(analyse(open_run(str(run))), None).cells:
        worker = 6.0 if cell.profile.cell["transport"] == "jms" else 1.0
        assert cell.profile.calls == 2 * CALLS
        assert cell.profile.totals == pytest.approx({"client": 2.0, "sort-worker": worker})


@pytest.mark.parametrize("is_met", [True, False])
def test_a_counted_trial_whose_service_had_been_profiled_is_found(run, capsys, is_met):
    planned = open_run(str(run))
    served = [trial for trial in planned.plan if "sort-worker" in trial.needs][-1]
    late, profiled = (
        run / "trials" / trial.id / "trial.json" for trial in (served, planned.profiled[0])
    )
    start = json.loads(late.read_text())["services"]["sort-worker on worker1"]
    record = json.loads(profiled.read_text())
    record["services"] = {"sort-worker on worker1": start if is_met else "another"}
    profiled.write_text(json.dumps(record))
    assert main(["check", str(run)]) == 0, "it was served before there was a profiler"
    profiled.write_text(json.dumps({**record, "started_at": "2020-01-01T00:00:00Z"}))
    assert main(["check", str(run)]) == is_met
    said = f"starts: {late.parent.name}: sort-worker on worker1 was not restarted after p03"
    assert (said in capsys.readouterr().out) == is_met


def test_stacks_are_read_without_what_a_jvm_numbers_anew():
    text = (
        "java/lang/Thread.run;a/B$$Lambda.0x00007f3c5c123.run;[vdso] 12\n"
        "no count\n"
        "a/LambdaForm$DMH.0x0000abc.invoke 3\n"
        "thread_native_entry;CompileBroker::compiler_thread_loop;Compile::Code_Gen 4\n"
        "a/B.read;/usr/lib/x86_64-linux-gnu/libc.so.6 5\n"
    )
    assert list(collapsed(text)) == [
        (("java.lang.Thread.run", "a.B$$Lambda.run", "[vdso]"), 12),
        (("a.LambdaForm$DMH.invoke",), 3),
        (("(JIT compiler)",), 4),
        (("a.B.read", "[libc.so.6]"), 5),
    ]
    own = own_times({("client", "a.B.read", "[libc.so.6]"): 2.0, ("client", "a.B.read"): 1.0})
    assert own == {("client", "a.B.read"): 3.0}


def test_small_frames_are_not_drawn(tmp_path):
    many = {("client1", "c", "client"): [("a", 100.0), *((f"x{n}", 0.4) for n in range(90))]}
    for planned in make_run(tmp_path / "run", times, profile="paper", study=TEXT):
        if planned.profiled:
            add_profiles(tmp_path / "run", planned, lambda planned: many)
    cell = flames_of(analyse(open_run(str(tmp_path / "run"))), None).cells[0]
    assert [box.name for box in cell.graph.boxes] == ["all", "client", "a"]
    assert cell.profile.totals == pytest.approx({"client": 136.0})


def test_the_methods_of_each_cell_are_exported_with_their_own_times(run, capsys):
    assert main(["export", str(run), "--format", "frames", "-o", "-"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "study,transport,servers,integers,program,frame,ms_a_call"
    assert "orders,jms,1,500,sort-worker,org.rackbench.Worker.spin,5" in lines
    assert "orders,soap,1,500,client,a.Call.send,2" in lines
    assert not [line for line in lines if "soap" in line and "spin" in line]
    times = [float(line.rpartition(",")[2]) for line in lines if ",jms,1,500," in line]
    assert times == sorted(times, reverse=True) != times[::-1]
