from dataclasses import replace

import numpy as np
import pytest
from made_up_studies import changed
from scipy import stats
from synthetic import make_run, sort_times

from collect.cells.analysis import analyse
from collect.cells.notation import show_estimate
from collect.cli import main
from collect.exchange.formats import FORMATS
from collect.planning.interim import due_analyses, error_of
from collect.replication.claims import Bound, Claim, Verdict, judge
from collect.replication.evidence import Untested, quotient
from collect.replication.exhibits import over_paper
from collect.replication.replicate import replicate
from collect.replication.studies import find
from collect.run.cell import Cell
from collect.run.directory import open_run
from collect.stats.estimates import Estimate, geometric_t
from collect.stats.spending import errors_of

SORT = find("sort")
PUBLISHED = SORT.published()
BY_SENTENCE = {claim.sentence: judge(claim, PUBLISHED) for claim in SORT.claims}


def on_paper(part):
    (judgement,) = [j for sentence, j in BY_SENTENCE.items() if part in sentence]
    return judgement


def test_figure_7_is_whole_and_named():
    assert len(PUBLISHED.keys) == 24
    assert PUBLISHED.value(Cell.of(transport="soap", servers=5, integers=100000)).value == 1177286
    assert {cell.source for cell in PUBLISHED.cells.values()} == {
        "000_43a17e1ece323583.txt, Figure 7"
    }


def test_jms_speeds_up_24_2_times_on_paper():
    judgement = on_paper("JMS speeds up")
    assert judgement.verdict == Verdict.HOLDS
    assert judgement.tested[0].value == pytest.approx(24.2, abs=0.05)


def test_soap_does_not_speed_up_on_paper():
    judgement = on_paper("SOAP speeds up")
    assert judgement.verdict == Verdict.FAILS
    assert judgement.tested[0].value == pytest.approx(0.34, abs=0.005)


def test_soap_takes_nearly_twice_jms_in_2_of_12_cells_on_paper():
    judgement = on_paper("nearly twice")
    assert (judgement.holding, len(judgement.results), len(judgement.beside)) == (2, 6, 6)
    values = [estimate.value for _, estimate in judgement.beside]
    assert not any(1.5 <= value <= 2.5 for value in values)
    values += [estimate.value for estimate in judgement.tested]
    assert (min(values), max(values)) == pytest.approx((0.15, 10.8), abs=0.05)
    assert judgement.verdict == Verdict.DIRECTION_ONLY


def test_growth_is_not_alike_on_paper():
    judgement = on_paper("grow alike")
    assert judgement.tested[0].value == pytest.approx(3.99 / 2.23, abs=0.005)
    assert judgement.verdict == Verdict.FAILS


def test_three_servers_are_the_slowest_only_at_500_on_paper():
    judgement = on_paper("Three servers")
    holding = [r.label for r in judgement.results if r.verdict == Verdict.HOLDS]
    both = ["500, against 1 server", "500, against 5 servers"]
    assert holding == [*both, "5\u202f000, against 5 servers", "50\u202f000, against 5 servers"]
    assert judgement.verdict == Verdict.FAILS


def test_the_speed_ups_are_not_alike_on_paper():
    judgement = on_paper("scale alike")
    assert judgement.tested[0].value == pytest.approx(24.2 / 0.34, rel=0.01)
    assert judgement.verdict == Verdict.FAILS


def test_two_sentences_of_the_document_contradict_each_other_in_every_cell():
    significant, minor = on_paper("differ significantly"), on_paper("no major difference")
    assert (significant.verdict, significant.holding) == (Verdict.HOLDS, 12)
    assert (minor.verdict, minor.holding) == (Verdict.FAILS, 0)
    for one, other in zip(significant.results, minor.results, strict=True):
        ratio = other.estimate.value
        assert one.estimate.value == pytest.approx(max(ratio, 1 / ratio))


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.6, 2.4, Verdict.HOLDS),
        (1.5, 2.5, Verdict.HOLDS),
        (1.4, 2.4, Verdict.INCONCLUSIVE),
        (1.2, 2.9, Verdict.INCONCLUSIVE),
        (1.1, 1.5, Verdict.INCONCLUSIVE),  # touches the bound, whose end is inside
        (2.5, 3.0, Verdict.INCONCLUSIVE),
        (2.6, 3.0, Verdict.DIRECTION_ONLY),
        (1.1, 1.4, Verdict.DIRECTION_ONLY),
        (0.9, 1.4, Verdict.SIGN_OPEN),
        (0.5, 0.8, Verdict.FAILS),
        (None, None, Verdict.INCONCLUSIVE),
    ],
)
def test_verdicts_follow_the_interval(low, high, verdict):
    estimate = Estimate(2.0 if low is None else (low + high) / 2, low, high)
    assert judge(claim_of(estimate), PUBLISHED).verdict == verdict


def claim_of(*estimates):
    return Claim(
        sentence="",
        where="",
        statistic="",
        bound=Bound(1.5, 2.5),
        direction=Bound(low=1, is_open=True),
        numbers=lambda evidence: [(str(i), e) for i, e in enumerate(estimates)],
    )


OUTSIDE_OF_BOUND = {Verdict.DIRECTION_ONLY, Verdict.SIGN_OPEN, Verdict.FAILS}
INSIDE, OUTSIDE = Estimate(2, 1.9, 2.1), Estimate(0.5, 0.4, 0.6)


@pytest.mark.parametrize(
    ("estimates", "verdict"),
    [
        ([INSIDE, INSIDE], Verdict.HOLDS),
        ([INSIDE, OUTSIDE], Verdict.FAILS),
        ([INSIDE, Untested("not run")], Verdict.NOT_TESTED),
        ([OUTSIDE, Untested("not run")], Verdict.FAILS),
        ([Estimate(3, 2.9, 3.1), Untested("not run")], Verdict.SIGN_OPEN),
        ([Estimate(2, 1, 3), Untested("not run")], Verdict.INCONCLUSIVE),
        ([INSIDE, Estimate(2, 1, 3)], Verdict.INCONCLUSIVE),
        ([], Verdict.NOT_TESTED),
    ],
)
def test_a_claim_is_as_good_as_its_worst_number(estimates, verdict):
    assert judge(claim_of(*estimates), PUBLISHED).verdict == verdict


def test_a_sentence_about_many_cells_seldom_fails_by_chance():
    """Twelve true ratios of 1.5, the bound itself: without a correction 26 % of nights fail."""
    rng = np.random.default_rng(5)
    failed = single = 0
    for _ in range(400):
        ratios = [geometric_t(rng.lognormal(np.log(1.5), 0.05, size=8)) for _ in range(12)]
        failed += judge(claim_of(*ratios), PUBLISHED).verdict in OUTSIDE_OF_BOUND
        single += any(Bound(1.5, 2.5).excludes(ratio) for ratio in ratios)
    assert failed / 400 < 0.06
    assert single / 400 > 0.15


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        (Bound(low=1, is_open=True), "> 1"),
        (Bound(low=13), "≥ 13"),
        (Bound(high=4 / 3), "≤ 1.33"),
        (Bound(0.8, 1.25), "in [0.8, 1.25]"),
        (Bound(4.85 / 1.5, 2048), "in [3.23, 2048]"),
    ],
)
def test_bounds_read_as_in_the_method(bound, text):
    assert str(bound) == text


def test_a_number_is_judged_by_the_bound_that_is_printed():
    bound = Bound(4 / 3, 3)
    claim = replace(claim_of(Estimate(1.332, 1.331, 1.333)), bound=bound)
    assert (str(bound), judge(claim, PUBLISHED).verdict) == ("in [1.33, 3]", Verdict.HOLDS)
    below = replace(claim_of(Estimate(1.328, 1.327, 1.329)), bound=bound)
    assert judge(below, PUBLISHED).only.text == "1.328 [1.327, 1.329]"


def test_an_open_bound_excludes_its_limit():
    bound = Bound(low=1, is_open=True)
    assert 1 not in bound
    assert bound.excludes(Estimate(1, 1, 1))
    assert not bound.excludes(Estimate(1.0, 0.9, 1.1))


def made_up(planned, rng):
    """SOAP takes twice JMS, work is n², and blocks differ by a factor ratios must not see."""
    share = planned.factors["integers"] / planned.factors["servers"]
    time = share**2 * 1e-7 * planned.block**3 * rng.lognormal(0, 1e-4)
    return [time * (2 if planned.factors["transport"] == "soap" else 1)] * planned.calls


def test_ratios_are_taken_inside_blocks(run_of):
    replication = replicate(analyse(run_of(made_up, profile="paper")))
    measured = replication.measured
    soap = Cell.of(transport="soap", servers=3, integers=500)
    ratio = measured.statistic([soap, soap.at(transport="jms")], lambda t: t[0] / t[1])
    assert (ratio.low, ratio.value, ratio.high) == pytest.approx((2, 2, 2), rel=1e-3)
    assert ratio.low < ratio.high
    verdicts = [judge(claim, measured).verdict for claim in SORT.claims]
    holds, fails = Verdict.HOLDS, Verdict.FAILS
    assert verdicts == [holds, holds, holds, holds, holds, fails, holds, fails]
    systems, *speed_ups = replication.summary
    assert systems.startswith("A job over SOAP took 2.00 times as long as the same job over JMS")
    assert len(speed_ups) == 2
    assert all("servers were 25.0 [25.0, 25.0] times as fast as one." in one for one in speed_ups)


def test_ties_of_a_clock_of_milliseconds_decide_nothing(run_of):
    """As JMeter writes times: each 5 ms may be anything from 4.5 to 5.5 ms."""

    def times(planned, rng):
        return [5.0 if planned.factors["transport"] == "soap" else 2.0] * planned.calls

    measured = replicate(analyse(run_of(times, profile="paper"))).measured
    for claim in SORT.claims:
        judgement = judge(claim, measured)
        assert judgement.verdict == Verdict.INCONCLUSIVE
        assert {(one.low, one.high) for one in judgement.tested} == {(None, None)}
    soap = Cell.of(transport="soap", servers=3, integers=500)
    for found in (measured.value(soap), measured.difference(soap, soap.at(transport="jms"))):
        assert (found.low, found.high) == (None, None)
    # Sizes in bytes are exact.
    bytes_of = measured.statistic([soap, soap.at(transport="jms")], quotient, "request_bytes")
    assert (bytes_of.low, bytes_of.high) == (1, 1)


def test_a_cell_that_did_not_run_is_not_tested(run_of):
    def times(planned, rng):
        is_broken = planned.factors == {"transport": "soap", "servers": 5, "integers": 100000}
        return "oom" if is_broken else made_up(planned, rng)

    measured = replicate(analyse(run_of(times, profile="paper"))).measured
    judgements = {claim.sentence: judge(claim, measured) for claim in SORT.claims}
    soap = next(j for sentence, j in judgements.items() if "SOAP speeds up" in sentence)
    assert soap.verdict == Verdict.NOT_TESTED
    assert "oom" in soap.results[0].estimate.reason


def test_claims_about_levels_of_another_profile_are_not_tested(run_of):
    measured = replicate(analyse(run_of())).measured
    assert judge(SORT.claims[0], measured).verdict == Verdict.NOT_TESTED


def test_claims_that_the_paper_contradicts_are_flagged(run_of):
    claims = replicate(analyse(run_of())).claims
    flagged = [item.claim.sentence for item in claims if item.is_not_even_in_paper]
    true = {SORT.claims[0].sentence, "SOAP and JMS differ significantly."}
    assert flagged == [c.sentence for c in SORT.claims if c.sentence not in true]


def test_a_study_without_a_module_has_none():
    assert find("my-own") is None


def test_a_statistic_is_of_the_blocks_that_all_its_cells_have(run_of):
    def times(planned, rng):
        is_broken = planned.block == 2 and planned.factors["transport"] == "soap"
        return "failed" if is_broken else [float(planned.block)] * planned.calls

    run = run_of(times)
    measured = replicate(analyse(run)).measured
    soap = next(cell for cell in run.cells if cell["transport"] == "soap")
    blocks = [block for block in range(1, run.blocks + 1) if block != 2]
    assert measured.rows([soap, soap.at(transport="jms")]) == [[b, b] for b in blocks]


def test_measured_over_paper_is_below_one_where_the_run_is_faster():
    assert over_paper(Estimate(2.0, 1.0, 4.0, 5), Estimate(8.0)) == Estimate(0.25, 0.125, 0.5, 5)
    assert over_paper(Estimate(2.0), Estimate(0.0)) is None


def test_an_average_over_survivors_says_so(run_of):
    def times(planned, rng):
        is_broken = planned.block == 2 and planned.factors["transport"] == "soap"
        return "timeout" if is_broken else [float(planned.block)] * planned.calls

    run = run_of(times)
    analysis = analyse(run)
    measured = replicate(analysis).measured
    soap = next(cell for cell in run.cells if cell["transport"] == "soap")
    jms = soap.at(transport="jms")
    ratio = measured.statistic([soap, jms], lambda t: t[0] / t[1])
    lost = [measured.value(soap).lost, measured.value(jms).lost, ratio.lost]
    assert lost == [1, 0, 1]
    assert (ratio.times(2).lost, ratio.inverse().lost) == (1, 1)
    assert show_estimate(measured.value(soap)).endswith("(without 1 failed)")
    assert "failed" not in show_estimate(measured.value(jms))
    exhibits = [e for e in replicate(analysis).exhibits if e.title == "System against system"]
    assert all(row[-3].estimate.lost == 1 for row in exhibits[0].rows)


def test_a_block_in_which_both_cells_failed_is_lost_once(run_of):
    run = run_of(lambda planned, rng: "timeout" if planned.block == 2 else [1.0] * planned.calls)
    measured = replicate(analyse(run)).measured
    soap = next(cell for cell in run.cells if cell["transport"] == "soap")
    assert measured.lost([soap, soap.at(transport="jms")]) == 1


def test_a_ratio_of_blocks_with_a_time_of_zero_has_no_interval(run_of):
    """As clocks of whole milliseconds give it: the other blocks are those of slow calls."""

    def times(planned, rng):
        is_short = planned.block == 2 and planned.factors["transport"] == "jms"
        return [0.0 if is_short else float(planned.block)] * planned.calls

    run = run_of(times)
    measured = replicate(analyse(run)).measured
    soap = next(cell for cell in run.cells if cell["transport"] == "soap")
    ratio = measured.statistic([soap, soap.at(transport="jms")], lambda t: t[0] / t[1])
    assert (ratio.value, ratio.low, ratio.high) == (1.0, None, None)
    exhibits = [e for e in replicate(analyse(run)).exhibits if e.title == "System against system"]
    assert all(row[-1].text == "times of 0 ms have no ratio" for row in exhibits[0].rows)


def test_nobody_is_called_faster_where_a_time_of_zero_has_no_ratio(run_of):
    def times(planned, rng):
        if planned.factors["transport"] == "jms":
            return [0.0 if planned.block == 2 else 1.0] * planned.calls
        return [2.0 + 0.01 * planned.block] * planned.calls

    study = changed(replicates=6, calls=3, warmup=1)
    exhibits = replicate(analyse(run_of(times, study=study, profile="paper"))).exhibits
    rows = next(e for e in exhibits if e.title == "System against system").rows
    assert {row[-1].text for row in rows} == {"times of 0 ms have no ratio"}
    assert {(row[-3].estimate.low, row[-2].estimate) for row in rows} == {(None, None)}


def test_what_is_judged_of_a_run_that_may_stop_early_is_corrected(tmp_path):
    """Two runs with the same trials, one of them planned with two interim analyses."""
    few = {"transport": ["soap", "jms"], "servers": [1, 5], "integers": [500, 100000]}
    rule = {"half_width": 0.05, "looks": [3, 6]}
    found = {}
    for name, stop in (("fixed", "none"), ("corrected", rule)):
        study = changed(factors=few, replicates=6, calls=4, warmup=1, stop=stop)
        make_run(tmp_path / name, sort_times, profile="paper", study=study)
        assert len(due_analyses(tmp_path / name)) == (2 if name == "corrected" else 0)
        found[name] = replicate(analyse(open_run(str(tmp_path / name))))
    error = errors_of((3, 6))[-1]
    wider = stats.t.isf(error / 2, 5) / stats.t.isf(0.05 / 2, 5)
    assert 1 < wider < 1.06
    tested = 0
    for fixed, corrected in zip(found["fixed"].claims, found["corrected"].claims, strict=True):
        for one, other in zip(fixed.measured.tested, corrected.measured.tested, strict=True):
            assert other.value == one.value
            assert np.log(other.high / other.low) == pytest.approx(
                wider * np.log(one.high / one.low)
            )
            wanted = min(1, 0.05 / error * one.p_outside(1, 1))
            assert other.p_outside(1, 1) == pytest.approx(wanted)
            tested += 1
    assert tested > 10
    assert [one.published for one in found["fixed"].claims] == [
        one.published for one in found["corrected"].claims
    ]

    rows = [next(e for e in found[name].exhibits if e.id == "systems").rows for name in found]
    for one, other in zip(*rows, strict=True):
        (ratio, corrected_ratio), (p, corrected_p) = zip(one[-3:-1], other[-3:-1], strict=True)
        assert corrected_ratio.estimate.high > ratio.estimate.high
        wanted = min(1, 0.05 / error * p.estimate.value)
        assert corrected_p.estimate.value == pytest.approx(wanted)
    assert main(["report", str(tmp_path / "corrected")]) == 0
    page = (tmp_path / "corrected" / "report.html").read_text()
    assert "Interim analyses could end this run early" in page
    assert f"confidence level of {100 * (1 - error):.4g} %" in page


@pytest.mark.parametrize("looks", [[10, 20, 40], [2, 30]])
def test_two_blocks_have_a_report_however_seldom_their_intervals_may_miss(tmp_path, looks):
    """Intervals of one degree of freedom and an error of 1.5e-5 or 8e-18 have no ends."""
    few = {"transport": ["soap", "jms"], "servers": [1, 5], "integers": [500, 100000]}
    rule = {"half_width": 0.05, "looks": looks}
    study = changed(factors=few, replicates=looks[-1], calls=4, warmup=1, stop=rule)
    make_run(tmp_path / "two", sort_times, profile="paper", study=study, until=16)
    run = open_run(str(tmp_path / "two"))
    measured = replicate(analyse(run)).measured
    pair = [run.cells[0].at(transport=transport) for transport in ("soap", "jms")]
    ratio = measured.statistic(pair, lambda times: times[0] / times[1])
    assert (ratio.samples, ratio.low, ratio.high) == (2, None, None)
    assert main(["report", str(tmp_path / "two")]) == 0
    for name in FORMATS:
        output = str(tmp_path / f"two-{name}")
        assert main(["export", str(tmp_path / "two"), "--format", name, "-o", output]) == 0


def test_a_run_that_was_planned_with_equal_parts_keeps_them(tmp_path):
    rule = {"half_width": 0.05, "looks": [3, 6]}
    study = changed(replicates=6, calls=4, warmup=1, stop=rule)
    make_run(tmp_path / "old", sort_times, profile="paper", study=study, until=0)
    path = tmp_path / "old" / "plan.jsonl"
    assert b'"spending":"obrien-fleming"' in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(b',"spending":"obrien-fleming"', b""))
    old = open_run(str(tmp_path / "old"))
    assert error_of(old) == 0.025
    assert old.stop.correction == "equal parts, as the run was planned"


def test_a_number_just_outside_its_bound_is_not_shown_as_the_bound(run_of, capsys):
    def times(planned, rng):
        is_larger = planned.factors["transport"] == "jms" and planned.factors["integers"] == 100000
        return [10.0 * rng.lognormal(0, 1e-6) * (1.2504 if is_larger else 1)] * planned.calls

    study = changed(calls=4, replicates=3, warmup=1)
    run = str(run_of(times, study=study, profile="paper").directory)
    shown = {}
    for form in ("verdicts", "replication", "chart"):
        assert main(["export", run, "--format", form, "-o", "-"]) == 0
        lines = capsys.readouterr().out.splitlines()
        shown[form] = "\n".join(line for line in lines if "grow" in line or "1 server:" in line)
    assert "0 of 3 inside, 1.2504 to 1.2504 | fails" in shown["verdicts"]
    assert "1 server: 1.2504 \\[1.2504, 1.2504\\]; 3 servers: 1.2504 " in shown["replication"]
    assert "<title>1 server: 1.2504 [1.2504, 1.2504]; paper 1.79</title>" in shown["chart"]
    assert main(["report", run]) == 0
    page = (open_run(run).directory / "report.html").read_text()
    assert "<span>1 server</span> 1.2504 [1.2504, 1.2504]" in page


def test_a_verdict_says_that_it_rests_on_cells_that_drift(run_of):
    def times(planned, rng):
        is_drifting = planned.factors["transport"] == "soap" and planned.factors["servers"] == 5
        late = 1.5 if is_drifting else 1.0
        half = planned.calls // 2
        return [10.0 * rng.lognormal(0, 0.001) * (late if n >= half else 1) for n in range(40)]

    study = changed(calls=40, replicates=3, warmup=1)
    claims = replicate(analyse(run_of(times, study=study, profile="paper"))).claims
    words = {judged.claim.sentence: judged.measured.words for judged in claims}
    assert words["JMS speeds up from 1 to 5 servers at 100 000 integers."] == "inconclusive"
    assert words["SOAP speeds up from 1 to 5 servers at 100 000 integers."] == "fails, drifting"


def test_only_cells_whose_times_are_taken_can_make_a_verdict_drift(run_of):
    measured = replicate(analyse(run_of())).measured
    soap, *_ = [cell for cell in measured.keys if cell["transport"] == "soap"]
    pair = [soap, soap.at(transport="jms")]
    seen = set()
    watched = measured.watched(seen)
    assert watched.statistic(pair, lambda sizes: sizes[0] / sizes[1], "request_bytes")
    assert watched.difference(*pair, "request_bytes")
    assert (watched.outcome(soap), watched.share(soap, "ok").value) == ("ok", 1)
    assert seen == set()
    assert watched.statistic(pair, lambda times: times[0] / times[1])
    assert seen == set(pair)
