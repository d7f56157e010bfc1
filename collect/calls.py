"""All calls of a run in one Parquet file, kept up to date and summarised by DuckDB."""
# ruff: noqa: S608 - what is put into SQL here is our own constants and quoted paths

import glob
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from collect.check import Finding
from collect.run import Run
from collect.statistics import Moments
from collect.trials import CALLS_HEADER, Trial, calls_path
from collect.writing import beside

LAYOUT = "1"
_TYPES = {"phase": "VARCHAR", "status": "VARCHAR"}
_COLUMNS = {name: _TYPES.get(name, "BIGINT") for name in CALLS_HEADER.split(",")}
# From the intended start where there is one, so that waiting is not hidden in an open loop.
_TIME = "coalesce(start_ns - intended_ns, 0) + elapsed_ns"
_COUNTED = "phase = 'measure' AND status = 'ok'"
_BUCKETS = 200

Stamp = tuple[str, int, int]
"""What tells whether a calls file was read before: SHA-256 of its seal, bytes, time of change."""


@dataclass(frozen=True)
class TrialSummary:
    """The measured calls of one trial; times in ms over calls with status ok, None without any."""

    calls: int
    errors: int
    mean_ms: float | None
    variance_ms2: float | None
    request_bytes: float | None
    response_bytes: float | None

    @property
    def moments(self) -> Moments | None:
        """Count, mean and variance of the times."""
        return (
            None if self.mean_ms is None else Moments(self.calls, self.mean_ms, self.variance_ms2)
        )


@dataclass(frozen=True)
class CellQuantiles:
    """Over all counted calls of a cell, in ms; `variance_ms2` treats calls as samples."""

    p50_ms: float
    p99_ms: float
    mean_ms: float
    variance_ms2: float | None


class Calls:
    """The calls of the verified trials of one run, in results/<run>/calls.parquet."""

    def __init__(self, run: Run) -> None:
        """Look at what the file holds; nothing is read from raw logs yet."""
        self.path = run.directory / "calls.parquet"
        self._pattern = glob.escape(str(self.path))
        self._database = duckdb.connect()
        self._database.execute("SET memory_limit = '1500MB'")
        self._database.execute("SET enable_progress_bar = false")
        self._known = self._stamps()

    def __contains__(self, trial: Trial) -> bool:
        """Tell whether this very calls file was verified and read before."""
        return self._known.get(trial.id) == _stamp(trial)

    @property
    def held(self) -> frozenset[str]:
        """The ids of the trials whose calls the file holds."""
        return frozenset(self._known)

    def update(self, trials: Sequence[Trial]) -> list[Finding]:
        """Make the file hold the calls of `trials` and no other; read only those not held yet.

        Returns a finding for each trial whose rows are not of the schema; they are left out.
        """
        fresh = [trial for trial in trials if trial not in self]
        kept = [trial.id for trial in trials if trial in self]
        if not fresh and len(kept) == len(self._known) and self.path.exists():
            return []
        findings = find_bad_rows(fresh, self._database)
        refused = {finding.subject for finding in findings}
        fresh = [trial for trial in fresh if trial.id not in refused]
        stamps = {trial.id: _stamp(trial) for trial in trials if trial.id not in refused}
        self._write(kept, fresh, stamps)
        self._known = stamps
        return findings

    def trials(self) -> Mapping[str, TrialSummary]:
        """Summarise each trial that has measured calls."""
        rows = self._database.execute(
            f"""
            SELECT trial, count(*) FILTER ({_COUNTED}), count(*) FILTER (status <> 'ok'),
                   avg({_TIME}) FILTER ({_COUNTED}) / 1e6,
                   var_samp(({_TIME}) / 1e6) FILTER ({_COUNTED}),
                   {_mean_of("request_bytes")}, {_mean_of("response_bytes")}
            FROM read_parquet(?) WHERE phase = 'measure' GROUP BY trial
            """,
            [self._pattern],
        ).fetchall()
        return {name: TrialSummary(*values) for name, *values in rows}

    def cells(self, cell_of: Mapping[str, int]) -> Mapping[int, CellQuantiles]:
        """Summarise the calls of each cell; `cell_of` maps the trials that count to their cells."""
        self._map(cell_of)
        rows = self._database.execute(
            f"""
            SELECT cell, quantile_cont(({_TIME}) / 1e6, [0.5, 0.99]), avg({_TIME}) / 1e6,
                   var_samp(({_TIME}) / 1e6)
            FROM read_parquet(?) JOIN counted USING (trial) WHERE {_COUNTED} GROUP BY cell
            """,
            [self._pattern],
        ).fetchall()
        return {cell: CellQuantiles(*quantiles, *rest) for cell, quantiles, *rest in rows}

    def courses(self, cell_of: Mapping[str, int]) -> Mapping[str, list[float]]:
        """Give the measured times of each trial in ms in order, as at most 200 means."""
        self._map(cell_of)
        rows = self._database.execute(
            f"""
            WITH numbered AS (
                SELECT trial, {_TIME} AS time_ns,
                       row_number() OVER (PARTITION BY trial ORDER BY start_ns, seq) - 1 AS place,
                       count(*) OVER (PARTITION BY trial) AS total
                FROM read_parquet(?) JOIN counted USING (trial) WHERE {_COUNTED}
            ), buckets AS (
                SELECT trial, place * least(total, {_BUCKETS}) // total AS bucket,
                       avg(time_ns) / 1e6 AS time_ms
                FROM numbered GROUP BY ALL
            )
            SELECT trial, list(time_ms ORDER BY bucket) FROM buckets GROUP BY trial
            """,
            [self._pattern],
        ).fetchall()
        return dict(rows)

    def _map(self, cell_of: Mapping[str, int]) -> None:
        self._database.execute("CREATE OR REPLACE TEMP TABLE counted (trial VARCHAR, cell INT)")
        self._database.execute(
            "INSERT INTO counted SELECT unnest(?), unnest(?)",
            [list(cell_of), list(cell_of.values())],
        )

    def _stamps(self) -> dict[str, Stamp]:
        if not self.path.exists():
            return {}
        try:
            rows = self._database.execute(
                "SELECT decode(key), decode(value) FROM parquet_kv_metadata(?)",
                [self._pattern],
            ).fetchall()
            held = dict(rows)
            if held.get("rackbench_layout") != LAYOUT:
                return {}
            return {name: tuple(stamp) for name, stamp in json.loads(held["trials"]).items()}
        except (duckdb.Error, KeyError, ValueError):
            # Derived, so a file that cannot be used is simply made again.
            return {}

    def _write(
        self, kept: Sequence[str], fresh: Sequence[Trial], stamps: Mapping[str, Stamp]
    ) -> None:
        columns = ", ".join(f"NULL::{kind} AS {name}" for name, kind in _COLUMNS.items())
        parts = [f"SELECT NULL::VARCHAR AS trial, {columns} WHERE false"]
        if kept:
            self._map(dict.fromkeys(kept, 0))
            parts.append(
                f"SELECT trial, {', '.join(_COLUMNS)} FROM read_parquet({_quoted(self._pattern)}) "
                "SEMI JOIN counted USING (trial)"
            )
        if fresh:
            parts.append(_read(fresh))
        metadata = f"{{rackbench_layout: '{LAYOUT}', trials: {_quoted(json.dumps(stamps))}}}"
        with beside(self.path) as temporary:
            self._database.execute(
                f"COPY ({' UNION ALL '.join(parts)}) TO {_quoted(str(temporary))} "
                f"(FORMAT parquet, COMPRESSION zstd, KV_METADATA {metadata})"
            )


def find_bad_rows(
    trials: Sequence[Trial], database: duckdb.DuckDBPyConnection | None = None
) -> list[Finding]:
    """Give a finding for each verified trial whose rows are not of the schema or have gaps."""
    reasons = _bad_rows(trials, database or duckdb.connect()) if trials else {}
    return [
        Finding(
            "refused",
            name,
            f"{name}: calls.csv {reason}; it is not counted: set it aside and sweep again",
        )
        for name, reason in reasons.items()
    ]


def _bad_rows(trials: Sequence[Trial], database: duckdb.DuckDBPyConnection) -> dict[str, str]:
    query = f"""
        SELECT trial, CASE
            WHEN count(*) <> count(DISTINCT seq) OR min(seq) <> 0 OR max(seq) <> count(*) - 1
                THEN 'has gaps or repetitions in seq'
            WHEN count(*) FILTER (phase NOT IN ('warmup', 'measure') OR phase IS NULL) > 0
                THEN 'has an unknown phase'
            WHEN count(*) FILTER (status NOT IN ('ok', 'error', 'wrong', 'timeout')
                                  OR status IS NULL) > 0
                THEN 'has an unknown status'
            WHEN count(*) FILTER (elapsed_ns < 0 OR start_ns < 0 OR start_ns IS NULL
                                  OR elapsed_ns IS NULL OR thread IS NULL) > 0
                THEN 'has a time that is missing or negative'
            END AS reason
        FROM ({_read(trials)}) GROUP BY trial HAVING reason IS NOT NULL"""
    try:
        return dict(database.execute(query).fetchall())
    except duckdb.Error as error:
        # Halved until the file is found that stops the whole read.
        if len(trials) == 1:
            return {trials[0].id: f"has a row that cannot be read ({str(error).splitlines()[0]})"}
        middle = len(trials) // 2
        return {**_bad_rows(trials[:middle], database), **_bad_rows(trials[middle:], database)}


def _mean_of(column: str) -> str:
    """Give the SQL of the mean bytes of counted calls; a client writes unknown as below zero."""
    return f"avg({column}) FILTER ({_COUNTED} AND {column} >= 0)"


def _read(trials: Sequence[Trial]) -> str:
    """Give the SQL that reads the calls files of trials, strictly."""
    files = ", ".join(_quoted(glob.escape(str(calls_path(t.directory)))) for t in trials)
    return f"""
        SELECT parse_filename(parse_dirpath(filename)) AS trial, {", ".join(_COLUMNS)}
        FROM read_csv([{files}], columns = {_COLUMNS}, header = true, delim = ',', quote = '',
                      escape = '', nullstr = '', auto_detect = false, filename = true)"""


def _stamp(trial: Trial) -> Stamp:
    status = calls_path(trial.directory).stat()
    return trial.calls_sha256, status.st_size, status.st_mtime_ns


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
