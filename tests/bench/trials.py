"""Measures a trial's time outside its own JVM, and the time to resume a long run."""

from __future__ import annotations

import datetime
import json
import shlex
import shutil
import statistics
import time
import venv
from collections.abc import Sequence
from pathlib import Path

from bench_lab import ROOT, BenchLab, clocked, said
from by_hand import CLIENT, HandRun, study
from row import Row

HERE = Path(__file__).parent
SWEEP = "bench-sort"
SSH_CALLS = 50
ROUNDS = 3
FEW = 200
MANY = 5000


def rows(lab: BenchLab) -> list[Row]:
    """Return every row of this subject."""
    cost, beside_rivals = against_rivals(lab)
    return [sweep(lab), *beside_rivals, *long_run(lab, cost)]


def sweep(lab: BenchLab) -> Row:
    """Compare the median wall time of a trial outside its JVM in a sweep with a bare ssh."""
    results = ROOT / "results" / SWEEP
    shutil.rmtree(results, ignore_errors=True)
    lab.play("sweep", "-e", "study=sort", "-e", f"run={SWEEP}")
    cost = json.loads((results / "state.json").read_text())["outside_jvm_ms_p50"] / 1e3
    shutil.rmtree(results)
    ssh = [*lab.ssh(CLIENT), "true"]
    clocked(ssh)
    bare = statistics.median(clocked(ssh) for _ in range(SSH_CALLS))
    what = "a trial outside its JVM (median)"
    return Row(what, cost, "multiplexed `ssh true`", bare, "< 50 ms")


def against_rivals(lab: BenchLab) -> tuple[float, list[Row]]:
    """Compare 200 trivial trials outside their JVMs with as many calls of `true` by other tools.

    Also return the cost of one of ours in seconds.
    """
    ssh = lab.ssh(CLIENT)
    loop = f"for i in $(seq {FEW}); do {shlex.join(ssh)} true; done"
    execo = [str(execo_python(lab)), str(HERE / "execo_sweep.py"), str(FEW), *ssh[1:]]
    ours, unobserved, loops, execos = [], [], [], []
    for i in range(ROUNDS):
        print(f"{FEW} trials by rackbench, bash and execo, round {i + 1} of {ROUNDS} …", flush=True)
        run = noop(lab, f"bench-few-{i}", FEW)
        ours.append(outside(run, run.ids))
        alone = noop(lab, f"bench-few-alone-{i}", FEW, observe="none")
        unobserved.append(outside(alone, alone.ids))
        loops.append(clocked(["bash", "-c", loop]) / FEW)
        execos.append(clocked(execo) / FEW)
    cost = statistics.median(ours)
    what = f"one of {FEW} trivial trials, all but its JVM"
    by_execo = "ParamSweeper and Remote of execo, `true`"
    return cost, [
        Row(what, cost, "loop of multiplexed `ssh true`", statistics.median(loops)),
        Row(what, cost, by_execo, statistics.median(execos), "< 1 times execo's"),
        Row("the same with `observe: none`", statistics.median(unobserved), what, cost, "< 10 ms"),
    ]


def long_run(lab: BenchLab, cost_alone: float) -> list[Row]:
    """Measure the cost of a trial, and the time to the first one, when 4 800 are sealed.

    The sealed ones are copies of one real trial, because only their number matters.
    """
    few = noop(lab, "bench-few", FEW)
    many = noop(lab, "bench-many", MANY)
    print(f"{FEW} trials, the last of {MANY} …", flush=True)
    alone = until_first(few, few.ids[:1])
    many.run(many.ids[:1])
    many.copy_sealed(many.ids[0], many.ids[1:-FEW])
    resumed = until_first(many, many.ids[-FEW:][:1])
    cost_last = outside(many, many.ids[-FEW:][1:])
    what = f"the same, the last {FEW} of {MANY}, the others sealed before"
    return [
        Row(what, cost_last, f"{FEW} alone", cost_alone, "flat"),
        Row(
            f"the runner resumes {MANY} trials: until the next starts",
            resumed,
            f"{FEW} trials, none sealed",
            alone,
            "< 3 s",
        ),
    ]


def noop(lab: BenchLab, name: str, replicates: int, **more: str) -> HandRun:
    """Plan trials that make one call that does nothing."""
    constants = {"client_heap_mb": 16, "jvm_options": ["-XX:TieredStopAtLevel=1"], **more}
    return HandRun.planned(
        lab, name, study(name, "noop", replicates=replicates, constants=constants)
    )


def outside(run: HandRun, ids: Sequence[str]) -> float:
    """Return the seconds of each of these trials that the runner spends outside their JVMs."""
    wall = run.run(ids)
    inside: list[float] = [trial.record["fork_ms"]["jvm"] for trial in run.trials(ids)]
    return (wall - sum(inside) / 1e3) / len(ids)


def until_first(run: HandRun, ids: Sequence[str]) -> float:
    """Return the seconds from the runner's command to the trial; the lab has one clock."""
    begin = time.time()
    run.run(ids)
    started = run.trials(ids)[0].record["started_at"]
    return datetime.datetime.fromisoformat(started).timestamp() - begin


def execo_python(lab: BenchLab) -> Path:
    """Return the interpreter of an environment that has execo."""
    home = lab.state / "execo"
    if not home.exists():
        venv.create(home, with_pip=True)
        pip = [str(home / "bin/python"), "-m", "pip", "install", "--quiet", "--require-hashes"]
        said([*pip, "-r", str(HERE / "requirements.txt")])
    return home / "bin/python"
