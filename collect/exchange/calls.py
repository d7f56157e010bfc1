"""Exports the calls of a run as Parquet, CSV and a log of JMeter, by DuckDB."""
# ruff: noqa: S608 - only our own constants and quoted names are put into SQL here

import glob
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from collect.cells.analysis import Analysis
from collect.errors import InputError
from collect.exchange.labels import label_of
from collect.run.cell import level_field
from collect.run.trials import CALLS_HEADER, CALLS_WORDS, Trial

LOG_COLUMNS = {
    name: "VARCHAR" if name in CALLS_WORDS else "BIGINT" for name in CALLS_HEADER.split(",")
}
"""The columns of calls.csv with their types in SQL."""
PARQUET_COLUMNS = (
    *("run", "study", "profile", "trial", "block", "position", "attempt", "outcome"),
    *("factors", "started_at", *LOG_COLUMNS),
)
"""The schema of an exported Parquet file; `factors` is a JSON object, whatever the study."""
JTL_COLUMNS = (
    *("timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName"),
    *("dataType", "success", "failureMessage", "bytes", "sentBytes", "grpThreads", "allThreads"),
    *("URL", "Latency", "IdleTime", "Connect"),
)
"""The columns of a CSV log in the order in which JMeter writes them unless told otherwise."""
_CSV = "(FORMAT csv, HEADER, DELIMITER ',', QUOTE '\"', ESCAPE '\"')"


def write_parquet(analysis: Analysis, path: Path) -> None:
    """Write every call of every whole trial, warm-up too, with the columns PARQUET_COLUMNS."""
    with calls_of(analysis, path.parent) as database:
        _copy(
            database,
            f"SELECT {', '.join(PARQUET_COLUMNS)} FROM calls ORDER BY position, seq",
            path,
            "(FORMAT parquet, COMPRESSION zstd)",
        )


def write_csv(analysis: Analysis, path: Path) -> None:
    """Write every call of every whole trial, with a column for each factor."""
    factors = list(analysis.run.factors)
    others = ("study", "trial", "block", "position", "outcome", *LOG_COLUMNS)
    twice = sorted(set(factors) & set(others))
    if twice:
        raise InputError(
            f"{analysis.run.name}: the factor {twice[0]} has the name of a column of the log; "
            "export parquet instead, which has one column for all levels"
        )
    levels = [f"level{place} AS {_name(factor)}" for place, factor in enumerate(factors)]
    columns = ", ".join([others[0], *levels, *others[1:]])
    with calls_of(analysis, path.parent) as database:
        _copy(database, f"SELECT {columns} FROM calls ORDER BY position, seq", path, _CSV)


def write_jtl(analysis: Analysis, path: Path) -> None:
    """Write the measured calls of trials that count as JMeter does: JTL_COLUMNS, in whole ms.

    `timeStamp` is the start, from the wall-clock anchor of the trial. In an open loop it is when
    the call was due, and `elapsed` is the response time. `bytes` and `sentBytes` are those of the
    bodies, 0 where unknown. `collect import` reads the cell from the label, and the block from
    the name of the thread, which begins with the trial.
    """
    with calls_of(analysis, path.parent) as database:
        _copy(
            database,
            """
            SELECT (anchor_ns::HUGEINT + begun_ns) // 1000000 AS "timeStamp",
                   round(time_ns / 1e6)::BIGINT AS elapsed, label,
                   status AS "responseCode", coalesce(text, '') AS "responseMessage",
                   trial || ' ' || coalesce(thread, 0) AS "threadName", 'text' AS "dataType",
                   CASE status WHEN 'ok' THEN 'true' ELSE 'false' END AS success,
                   CASE status WHEN 'wrong' THEN coalesce(text, 'wrong') ELSE '' END
                       AS "failureMessage",
                   greatest(coalesce(response_bytes, 0), 0) AS bytes,
                   greatest(coalesce(request_bytes, 0), 0) AS "sentBytes",
                   threads AS "grpThreads", threads AS "allThreads", '' AS "URL",
                   elapsed AS "Latency", 0 AS "IdleTime", 0 AS "Connect"
            FROM calls LEFT JOIN errors USING (trial, seq)
            WHERE counts AND phase = 'measure' ORDER BY "timeStamp", position, seq""",
            path,
            _CSV,
        )


@contextmanager
def calls_of(analysis: Analysis, scratch: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database with the view `calls` over the logs of the whole trials of a run.

    Its columns are PARQUET_COLUMNS, `level0` and so on (of each factor, as a field), `label`,
    `threads`, `counts` (whether the trial is in the averages), `anchor_ns` (since 1970), `begun_ns`
    (since the trial's start) and `time_ns`, which in an open loop includes the waiting. The table
    `errors` holds `trial`, `seq` and `text`. While the database is open, it keeps what does not fit
    into memory in a directory in `scratch`.
    """
    trials = analysis.trials
    with TemporaryDirectory(prefix=".export-", dir=scratch) as spill, duckdb.connect() as database:
        database.execute("SET memory_limit = '1500MB'")
        database.execute("SET enable_progress_bar = false")
        database.execute(f"SET temp_directory = {_text(spill)}")
        _create(database, "trials", _described(analysis, trials))
        _create(database, "errors", _errors(trials))
        database.execute(f"CREATE TEMP VIEW calls AS {_view(analysis, trials)}")
        yield database


def _view(analysis: Analysis, trials: Sequence[Trial]) -> str:
    logs = [_text(glob.escape(str(trial.log))) for trial in trials]
    if logs:
        rows = f"""
            SELECT parse_filename(parse_dirpath(filename)) AS trial, {", ".join(LOG_COLUMNS)}
            FROM read_csv([{", ".join(logs)}], columns = {LOG_COLUMNS}, header = true, delim = ',',
                          quote = '', escape = '', nullstr = '', auto_detect = false,
                          hive_partitioning = false, filename = true)"""
    else:
        nothing = ", ".join(f"NULL::{kind} AS {name}" for name, kind in LOG_COLUMNS.items())
        rows = f"SELECT NULL::VARCHAR AS trial, {nothing} WHERE false"
    run = analysis.run
    constant = {"run": run.name, "study": run.study, "profile": run.profile}
    return f"""
        SELECT {", ".join(f"{_text(value)} AS {name}" for name, value in constant.items())},
               *, coalesce(intended_ns, start_ns) AS begun_ns,
               coalesce(start_ns - intended_ns, 0) + elapsed_ns AS time_ns
        FROM ({rows}) JOIN trials USING (trial)"""


def _described(analysis: Analysis, trials: Sequence[Trial]) -> dict[str, tuple[str, list[Any]]]:
    threads = {planned.id: planned.threads for planned in analysis.run.plan}
    factors = analysis.run.factors
    counting = {trial.id for trial in analysis.counted}
    return {
        "trial": ("VARCHAR", [trial.id for trial in trials]),
        "block": ("INTEGER", [trial.block for trial in trials]),
        "position": ("INTEGER", [trial.position for trial in trials]),
        "attempt": ("BIGINT", [trial.attempt for trial in trials]),
        "outcome": ("VARCHAR", [trial.outcome for trial in trials]),
        "factors": (
            "VARCHAR",
            [json.dumps(dict(trial.factors), ensure_ascii=False) for trial in trials],
        ),
        "started_at": ("TIMESTAMPTZ", [trial.started_at for trial in trials]),
        "label": ("VARCHAR", [label_of(trial.factors) for trial in trials]),
        "threads": ("INTEGER", [threads[trial.id] for trial in trials]),
        "counts": ("BOOLEAN", [trial.id in counting for trial in trials]),
        "anchor_ns": ("BIGINT", [anchor_ns(trial) for trial in trials]),
        **{
            f"level{place}": ("VARCHAR", [level_field(trial.factors[name]) for trial in trials])
            for place, name in enumerate(factors)
        },
    }


def _errors(trials: Sequence[Trial]) -> dict[str, tuple[str, list[Any]]]:
    """Return one text a call, since a call with two would be joined twice: the first."""
    texts = {
        (trial.id, error.seq): error.text
        for trial in trials
        for error in reversed(trial.errors)
        if 0 <= error.seq < trial.calls_rows
    }
    return {
        "trial": ("VARCHAR", [trial for trial, _ in texts]),
        "seq": ("BIGINT", [seq for _, seq in texts]),
        "text": ("VARCHAR", [*texts.values()]),
    }


def _create(
    database: duckdb.DuckDBPyConnection, table: str, columns: dict[str, tuple[str, list[Any]]]
) -> None:
    declared = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
    database.execute(f"CREATE TEMP TABLE {table} ({declared})")
    lists = ", ".join(f"unnest(?::{kind}[])" for kind, _ in columns.values())
    database.execute(
        f"INSERT INTO {table} SELECT {lists}", [values for _, values in columns.values()]
    )


def _copy(database: duckdb.DuckDBPyConnection, query: str, path: Path, options: str) -> None:
    database.execute(f"COPY ({query}) TO {_text(str(path))} {options}")


def anchor_ns(trial: Trial) -> int:
    """Return the wall clock at the trial's start in ns since 1970, by its JVM's clock if known."""
    anchor = trial.anchor
    # An anchor without a time zone is no moment.
    instant = anchor if anchor and anchor.tzinfo else trial.started_at
    since = instant - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
