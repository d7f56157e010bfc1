"""Measures the cost of measuring: the sampling of nodes, and the marks of the parts of a call.

Each is measured in pairs of trials, one with it and one without, which alternate in order. The
result is the geometric mean of the ratios inside the pairs with its 95 % interval; an interval that
includes 1 shows no detectable cost. Readings also use processors between calls, so a row shows
their share of a core.
"""

from __future__ import annotations

import json
import statistics
import time

from bench_lab import BenchLab, said
from by_hand import CLIENT, HandRun, study
from pairs import Times
from row import Row

PAIRS = 12
WORKER = "worker1"
HTTP_CALLS = 40_000
"""About two seconds, so that each trial has readings of its seconds and around its phase."""
SOAP_CALLS = 1500
LONG_CALLS = 1_000_000
"""About half a minute; in a shorter trial the health checks around it are a large part."""
SETTLED_S = 1
"""Pause for the start of the health service, which would count as its sampling."""
CALM = "lab-without-health.json"
INSIDE = "1 inside"


def rows(lab: BenchLab) -> list[Row]:
    """Return every row of this subject."""
    return [*sampling(lab), marks(lab)]


def sampling(lab: BenchLab) -> list[Row]:
    """Return the p50 of `http` at one thread with and without sampling, and the sampler's cost."""
    run = http_run(lab, "bench-sampling", calls=HTTP_CALLS, replicates=2 * PAIRS)
    calm = f"{run.path}/{CALM}"
    described = json.loads(run.on_node("cat /etc/rackbench/lab.json"))
    del described["health_port"]
    run.on_node(f"cat > {calm}", json.dumps(described).encode())
    with_it, without, shares = [], [], []
    for pair in range(PAIRS):
        print(f"http with and without readings, pair {pair + 1} of {PAIRS} …", flush=True)
        both = run.ids[2 * pair : 2 * pair + 2]
        for is_sampled, trial in zip((pair % 2 == 0, pair % 2 == 1), both, strict=True):
            # Restarted, or its last poll keeps it sampling for 90 s of the trial without readings.
            set_health(lab, "restart" if is_sampled else "stop")
            if is_sampled:
                shares.append(health_share(lab, run, trial))
                with_it.append(median_call(run, trial))
            else:
                run.run([trial], lab_file=calm)
                without.append(median_call(run, trial))
    print("a longer trial with readings …", flush=True)
    long = http_run(lab, "bench-long", calls=LONG_CALLS, replicates=1)
    set_health(lab, "restart")
    what = "`http`, 1 thread: p50 with readings"
    return [
        Row.of_rounds(what, with_it, "without", without, INSIDE),
        of_a_core("trials of seconds", statistics.fmean(shares), ""),
        of_a_core("a trial of half a minute", health_share(lab, long, *long.ids), "< 0.005"),
    ]


def http_run(lab: BenchLab, name: str, calls: int, replicates: int) -> HandRun:
    """Plan a run of `http` at one thread, with half of HTTP_CALLS as warm-up calls."""
    asked = {"calls": calls, "warmup": HTTP_CALLS // 2, "replicates": replicates}
    plan = study(name, "http", needs=["tomcat"], servers=1, restart="none", **asked)
    return HandRun.planned(lab, name, plan)


def set_health(lab: BenchLab, verb: str) -> None:
    """Restart or stop the health service on the nodes of a trial, and let the nodes settle."""
    for node in (CLIENT, WORKER):
        said([*lab.ssh(node), f"sudo systemctl {verb} rackbench-health.service"])
    time.sleep(SETTLED_S)


def health_share(lab: BenchLab, run: HandRun, trial: str) -> float:
    """Run a trial; return the cores that the worker's health service used meanwhile."""
    before, began = health_cpu(lab), time.monotonic()
    run.run([trial])
    return (health_cpu(lab) - before) / (time.monotonic() - began)


def of_a_core(when: str, share: float, target: str) -> Row:
    """Return the row of the health service's use: polls, settings and sampling."""
    what = f"the health service of {WORKER} in {when}"
    return Row(what, share, "one core", 1, target, lambda value: f"{value:.4f}")


def marks(lab: BenchLab) -> Row:
    """Return the p50 of a small SOAP job with and without marks of the parts of its call."""
    constants = {"client_heap_mb": 256, "integers": 500, "pooled": True, "servers": 1}
    plan = study(
        "bench-marks",
        "sort-soap",
        factors={"parts": [True, False]},
        domains={"parts": {"type": "boolean"}},
        constants=constants,
        needs=["tomcat"],
        servers=1,
        threads=1,
        restart="none",
        replicates=PAIRS,
        calls=SOAP_CALLS,
        warmup=SOAP_CALLS,
    )
    run = HandRun.planned(lab, "bench-marks", plan)
    print(f"{len(run.ids)} trials with and without marks …", flush=True)
    run.run(run.ids)
    found: dict[bool, list[float]] = {True: [], False: []}
    for trial in run.trials(run.ids):  # the plan keeps both trials of a block together
        found[bool(trial.record["factors"]["parts"])].append(Times.of(trial).p50)
    what = "SOAP job, 1 thread: p50 with marks"
    return Row.of_rounds(what, found[True], "without", found[False], INSIDE)


def median_call(run: HandRun, trial: str) -> float:
    """Return the seconds of the median measured call of a trial that was run."""
    (sealed,) = run.trials([trial])
    return Times.of(sealed).p50


def health_cpu(lab: BenchLab) -> float:
    """Return the processor seconds of the worker's health service and its children.

    They come from its processes (fields 14 to 17 of `proc(5)`'s stat), because not every node's
    kernel counts processor time for each service. A service that is down ends the bench.
    """
    asked = "systemctl show --property=MainPID --value rackbench-health.service"
    text = said([*lab.ssh(WORKER), f'getconf CLK_TCK; cat "/proc/$({asked})/stat"']).decode()
    ticks, stat = text.splitlines()
    return sum(map(int, stat.rpartition(")")[2].split()[11:15])) / int(ticks)
