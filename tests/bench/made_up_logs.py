"""Makes the run for the measurements of logs.py: made_up_logs.py DIRECTORY TRIALS CALLS_A_TRIAL."""

from __future__ import annotations

import hashlib
import io
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import yaml
from pyarrow import csv

from collect.run.plan import PlannedTrial
from collect.run.trials import CALLS_HEADER

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
from synthetic import STUDIES, make_run, seal

CELLS = 20
_WARMUP_SHARE = 10


def make(run: Path, trials: int, each: int) -> None:
    """Plan a run of `trials` trials and seal a log of `each` calls for every one."""
    study = yaml.safe_load((STUDIES / "harness.yml").read_text())
    study |= {
        "factors": {"workload": ["noop"], "concurrency": list(range(1, CELLS + 1))},
        "replicates": trials // CELLS,
        "warmup": each // _WARMUP_SHARE,
        "calls": each - each // _WARMUP_SHARE,
        "threads": 1,
        "where": [],
        "profiles": {"bench": {}},
    }
    plan = make_run(
        run, lambda planned, rng: [], study=yaml.safe_dump(study), profile="bench", until=0
    )

    def make_one(planned: PlannedTrial) -> None:
        directory = seal(run / "trials", planned, [])
        content = log_of(planned, np.random.default_rng(planned.position))
        (directory / "calls.csv").write_bytes(content)
        record = json.loads((directory / "trial.json").read_text())
        record |= {"calls_rows": each, "calls_sha256": hashlib.sha256(content).hexdigest()}
        (directory / "trial.json").write_text(json.dumps(record))

    with ThreadPoolExecutor() as pool:
        for _ in pool.map(make_one, plan):
            pass


def log_of(planned: PlannedTrial, rng: np.random.Generator) -> bytes:
    """Return a log in the harness's form: lognormal times, one call in a thousand failed."""
    count = planned.rows
    elapsed = (1e6 * planned.factors["concurrency"] * rng.lognormal(0, 0.3, count)).astype(np.int64)
    seq = np.arange(count)
    columns = [
        seq,
        seq % planned.threads,
        np.where(seq < planned.warmup, "warmup", "measure"),
        pa.nulls(count, pa.int64()),
        np.cumsum(elapsed + 700) - elapsed,
        elapsed,
        np.full(count, 2000),
        np.full(count, 1900),
        np.where(rng.random(count) < 1e-3, "error", "ok"),
    ]
    stream = io.BytesIO(f"{CALLS_HEADER}\n".encode())
    stream.seek(0, io.SEEK_END)
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    csv.write_csv(pa.table(columns, names=CALLS_HEADER.split(",")), stream, options)
    return stream.getvalue()


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
