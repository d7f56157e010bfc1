"""What holds for any input, of the readers and of the statistics, and a table of R."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_up_studies import SORT
from synthetic import reseal, seal

from collect.errors import InputError
from collect.logs.calls import prove_calls
from collect.run.directory import Run
from collect.run.plan import make_plan, plan_bytes, read_plan
from collect.run.study import load_study
from collect.run.trials import CALLS_HEADER
from collect.run.verify import verify_run
from collect.stats.anova import Observations, anova
from collect.stats.components import split_variance
from collect.stats.estimates import Moments, mean_t, mean_t_from_moments
from collect.stats.groups import holm
from collect.strict_json import parse_json

steady = settings(
    derandomize=True,
    deadline=None,
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
PLAN = make_plan(load_study(SORT).profile("demo", 5))
TIMES = st.floats(1e-3, 1e6)


def varied(most):
    """Samples of at least two values that differ, since others have no interval."""
    samples = st.lists(TIMES, min_size=2, max_size=most)
    return samples.filter(lambda sample: np.ptp(sample) > 1e-9 * max(sample))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
# R's InsectSprays (Beall 1942): summary(aov(count ~ spray)) gives SS 2669 and 1015, F 34.7.
SPRAYS = {
    "A": [10, 7, 20, 14, 14, 12, 10, 23, 17, 20, 14, 13],
    "B": [11, 17, 21, 11, 16, 14, 17, 17, 19, 21, 7, 13],
    "C": [0, 1, 7, 2, 3, 1, 2, 1, 3, 0, 1, 4],
    "D": [3, 5, 12, 6, 4, 3, 5, 5, 5, 5, 2, 4],
    "E": [3, 5, 3, 5, 3, 6, 1, 1, 3, 2, 6, 4],
    "F": [11, 9, 15, 22, 15, 16, 13, 10, 26, 26, 24, 13],
}


def table_of(groups):
    values = np.array([value for group in groups.values() for value in group], dtype=float)
    levels = tuple(name for name, group in groups.items() for _ in group)
    return anova(Observations(values, (levels,), ("level",)))


def test_one_way_anova_is_that_of_r_on_the_insect_sprays():
    between, within, _ = table_of(SPRAYS)
    assert (round(between.ss), round(within.ss)) == (2669, 1015)
    assert (between.df, within.df) == (5, 66)
    assert between.f == pytest.approx(34.7, abs=0.05)
    assert between.p_value < 2e-16


@given(
    groups=st.lists(st.lists(TIMES, min_size=2, max_size=5), min_size=2, max_size=4),
    shift=st.floats(-1e3, 1e3),
    scale=st.floats(0.5, 100),
)
@steady
def test_an_analysis_of_variance_adds_up_and_knows_no_unit(groups, shift, scale):
    named = {str(place): group for place, group in enumerate(groups)}
    moved = {name: [scale * x + shift for x in group] for name, group in named.items()}
    values = [x for group in groups for x in group]
    within = sum(float(np.var(group)) * len(group) for group in groups)
    if np.ptp(values) < 1e-3 * max(values) or within < 1e-6 * np.var(values):
        return
    table, other = table_of(named), table_of(moved)
    assert table[0].ss + table[1].ss == pytest.approx(table[2].ss, rel=1e-6)
    assert -1e-9 <= table[0].share <= 1 + 1e-9
    assert 0 <= table[0].p_value <= 1
    assert other[0].f == pytest.approx(table[0].f, rel=1e-3, abs=1e-6)


@given(sample=varied(10), scale=st.floats(1e-3, 1e3))
@steady
def test_means_and_intervals_know_no_unit(sample, scale):
    here, there = mean_t(sample), mean_t([scale * x for x in sample])
    slack = 1e-6 * scale * max(sample)
    assert there.value == pytest.approx(scale * here.value)
    assert there.low == pytest.approx(scale * here.low, rel=1e-6, abs=slack)
    assert there.high == pytest.approx(scale * here.high, rel=1e-6, abs=slack)


@given(sample=varied(10))
@steady
def test_more_of_the_same_narrows_the_interval(sample):
    once = mean_t(sample)
    often = mean_t(sample * 4)
    assert often.value == pytest.approx(once.value)
    assert often.half_width <= once.half_width * (1 + 1e-9)


@given(sample=varied(12))
@steady
def test_moments_are_all_an_interval_needs(sample):
    moments = Moments(len(sample), float(np.mean(sample)), float(np.var(sample, ddof=1)))
    slack = 1e-6 * max(sample)
    assert mean_t_from_moments(moments).low == pytest.approx(mean_t(sample).low, abs=slack)


@given(forks=st.lists(st.lists(TIMES, min_size=2, max_size=5), min_size=2, max_size=5))
@steady
def test_variance_is_split_into_parts_that_are_never_negative(forks):
    split = split_variance(
        [len(fork) for fork in forks],
        [float(np.mean(fork)) for fork in forks],
        [float(np.var(fork, ddof=1)) for fork in forks],
    )
    assert split.forks_ms2 >= 0
    assert split.calls_ms2 >= 0
    assert split.share_of_forks is None or 0 <= split.share_of_forks <= 1


@given(p_values=st.lists(st.floats(0, 1), max_size=12))
@steady
def test_a_correction_only_ever_makes_doubt_greater_and_keeps_the_order(p_values):
    corrected = holm(p_values)
    assert len(corrected) == len(p_values)
    for raw, more in zip(p_values, corrected, strict=True):
        assert raw <= more <= 1
    by_raw = [more for _, more in sorted(zip(p_values, corrected, strict=True))]
    assert by_raw == sorted(by_raw)


@given(line=st.one_of(st.binary(max_size=80), JSON.map(lambda value: json.dumps(value).encode())))
@steady
def test_any_line_of_a_plan_is_read_or_refused(tmp_path, line):
    path = tmp_path / "plan.jsonl"
    path.write_bytes(plan_bytes(PLAN[:1]) + line.replace(b"\n", b"") + b"\n")
    try:
        assert len(read_plan(path)) == 1
    except InputError as error:
        assert "plan.jsonl: line 2 " in str(error)


@given(name=st.sampled_from(sorted(vars(PLAN[0]))), value=JSON)
@steady
def test_any_value_in_a_plan_is_read_or_refused(tmp_path, name, value):
    path = tmp_path / "plan.jsonl"
    path.write_text(json.dumps({**PLAN[0].record(), name: value}) + "\n")
    try:
        (planned,) = read_plan(path)
    except InputError as error:
        assert "plan.jsonl" in str(error)
    else:
        run = Run(tmp_path, (planned,))
        assert len(run.cells) == 1
        assert planned.rows >= 0


@given(value=JSON)
@steady
def test_what_is_read_can_be_written(value):
    content = json.dumps(value).encode()
    try:
        assert json.dumps(parse_json(content), ensure_ascii=False).encode()
    except ValueError:
        assert any(text in content for text in (b"Infinity", b"\\ud"))


ROW = st.lists(
    st.one_of(
        st.integers(-5, 2**63),
        st.sampled_from(["measure", "warmup", "ok", "wrong", "", "-", "NULL", "\0", "é"]),
    ).map(str),
    min_size=1,
    max_size=10,
).map(",".join)


@given(rows=st.lists(ROW, min_size=1, max_size=3))
@steady
def test_any_rows_of_a_log_are_counted_or_refused(tmp_path_factory, rows):
    directory = tmp_path_factory.mktemp("any")
    planned = PLAN[0]
    sealed = seal(directory / "trials", planned, [1.0] * planned.calls, outcome="failed")
    reseal(sealed, lambda text: "\n".join([CALLS_HEADER, *rows, ""]))
    run = Run(directory, (planned,))
    verified = verify_run(run)
    assert len(verified.trials) == 1
    for finding in prove_calls(verified.trials).findings:
        assert finding.subject == planned.id
        assert "calls.csv" in finding.text
