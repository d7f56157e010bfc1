import json
from collections import Counter
from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_studies import SORT, changed

from collect.cli import main
from collect.errors import InputError
from collect.run.directory import open_run
from collect.run.plan import is_planned, make_plan, plan_bytes, read_plan, write_plan
from collect.run.stop import EQUAL, OBRIEN_FLEMING
from collect.run.study import load_study, parse_study

PAPER = replace(load_study(SORT).profile("paper", 5), profile_forks=0)
EQUAL_PARTS = replace(PAPER.stop, spending=EQUAL)


def test_the_same_study_profile_and_seed_give_the_same_bytes():
    again = replace(load_study(SORT).profile("paper", 5), profile_forks=0)
    assert plan_bytes(make_plan(PAPER)) == plan_bytes(make_plan(again))
    assert plan_bytes(make_plan(PAPER, seed=1)) != plan_bytes(make_plan(PAPER))


@given(seed=st.integers(0, 2**64))
def test_every_block_holds_every_cell_once(seed):
    plan = make_plan(PAPER, seed)
    for _, block in groupby(plan, key=lambda trial: trial.block):
        assert Counter(trial.factors for trial in block) == {t.factors: 1 for t in plan}
    assert [trial.position for trial in plan] == list(range(1, len(plan) + 1))
    assert len({trial.id for trial in plan}) == len(plan)


def test_blocks_differ_in_order_and_share_a_seed_inside():
    plan = make_plan(PAPER)
    orders = {
        block: tuple(trial.factors for trial in group)
        for block, group in groupby(plan, key=lambda trial: trial.block)
    }
    assert len(set(orders.values())) == PAPER.replicates
    assert len({(trial.block, trial.seed) for trial in plan}) == PAPER.replicates
    assert len({trial.seed for trial in plan}) == PAPER.replicates
    assert all(0 <= trial.seed < 2**63 for trial in plan)


def test_a_further_level_leaves_the_order_of_the_others_alone():
    factors = {"transport": ["soap", "jms"], "servers": [1, 3, 5]}
    small, large = ([500, 5000], [500, 5000, 9000])
    plans = [
        make_plan(parse_study(changed(factors={**factors, "integers": s}), "x").profile("paper", 5))
        for s in (small, large)
    ]
    kept = [trial.factors for trial in plans[1] if trial.factors["integers"] != 9000]
    assert kept == [trial.factors for trial in plans[0]]


def test_trials_with_the_same_node_settings_stand_together_in_a_block():
    profile = parse_study(changed(node={"link_mbit": "servers"}), "x").profile("paper", 5)
    for _, block in groupby(make_plan(profile), key=lambda trial: trial.block):
        changes = [rate for rate, _ in groupby(trial.node["link_mbit"] for trial in block)]
        assert len(changes) == 3


def test_ids_are_plain_whatever_the_levels():
    domains = {"transport": {"type": "string"}}
    levels = ["soap", "a b/c", 'né "x", y', "日本", ".."]
    text = changed(
        factors={"transport": levels, "servers": [1]},
        domains=domains,
        clients="any-client",
        needs=[],
    )
    plan = make_plan(parse_study(text, "x").profile("paper", 5))
    assert all(set(trial.id) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-") for trial in plan)
    assert {trial.factors["transport"] for trial in plan} == set(levels)


def test_a_plan_is_read_back_as_it_was_written(tmp_path):
    plan = make_plan(PAPER)
    assert write_plan(tmp_path / "plan.jsonl", plan)
    assert read_plan(tmp_path / "plan.jsonl") == plan
    line = (tmp_path / "plan.jsonl").read_text().splitlines()[0]
    record = json.loads(line)
    assert list(record) == sorted(record)
    assert list(record["factors"]) == ["transport", "servers", "integers"]
    assert line == json.dumps(record, separators=(",", ":"))


def test_a_plan_of_an_earlier_version_needs_no_service(tmp_path):
    record = json.loads(plan_bytes(make_plan(PAPER)).splitlines()[0])
    del record["needs"], record["servers"]
    (tmp_path / "plan.jsonl").write_text(json.dumps(record) + "\n")
    (trial,) = read_plan(tmp_path / "plan.jsonl")
    assert (list(trial.needs), trial.servers) == ([], 1)


def test_the_same_plan_resumes_and_another_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "night" / "plan.jsonl"
    plan = make_plan(PAPER)
    write_plan(path, plan)
    before = path.read_bytes()
    assert not write_plan(path, plan)
    with pytest.raises(InputError, match=r"run night exists with another plan.*another run name"):
        write_plan(path, make_plan(PAPER, seed=5))
    with pytest.raises(InputError, match="its profile is paper, not demo"):
        write_plan(path, make_plan(load_study(SORT).profile("demo", 5)))
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["plan.jsonl"]


def with_sorted_factors(plan):
    """The bytes of a plan as earlier versions wrote it, without the order of the factors."""
    lines = (json.loads(trial.line()) for trial in plan)
    texts = (json.dumps(line, sort_keys=True, separators=(",", ":")) for line in lines)
    return "".join(f"{text}\n" for text in texts).encode()


def test_a_plan_of_an_earlier_version_goes_on_and_is_left_as_it_is(tmp_path):
    path, plan = tmp_path / "plan.jsonl", make_plan(PAPER)
    path.write_bytes(with_sorted_factors(plan))
    assert not write_plan(path, plan)
    assert path.read_bytes() == with_sorted_factors(plan)
    with pytest.raises(InputError, match="seed of trial 1"):
        write_plan(path, [replace(plan[0], seed=1), *plan[1:]])


def test_a_plan_of_an_earlier_version_has_the_order_of_the_study_file(run_of):
    run = run_of()
    path = run.directory / "plan.jsonl"
    path.write_bytes(with_sorted_factors(run.plan))
    old = open_run(str(run.directory))
    assert [list(trial.factors) for trial in old.plan] == [list(run.factors)] * len(run.plan)
    assert (old.plan, old.factors, old.cells) == (run.plan, run.factors, run.cells)


def test_the_order_of_the_factors_needs_no_study_file(run_of):
    run = run_of()
    (run.directory / "run.json").unlink()
    assert list(open_run(str(run.directory)).factors) == ["transport", "servers", "integers"]


def planned(capsys, path, workers, *more):
    """The exit code, what was printed and the plan."""
    asked = ["plan", "sort", "--profile", "paper", "--workers", str(workers), "-o", str(path)]
    code = main([*asked, *more])
    printed = capsys.readouterr()
    return code, printed.out + printed.err, path.read_bytes() if path.exists() else b""


def test_a_fitted_run_keeps_its_plan_when_workers_are_added(tmp_path, capsys):
    path = tmp_path / "night" / "plan.jsonl"
    code, said, plan = planned(capsys, path, 4, "--fit")
    assert (code, "written" in said) == (0, True)
    assert {trial.factors["servers"] for trial in read_plan(path)} == {1, 3}
    assert {trial.fitted_to for trial in read_plan(path)} == {4}
    for workers in (4, 5, 9):
        assert planned(capsys, path, workers, "--fit") == (
            0, said.replace("written", "unchanged"), plan
        )  # fmt: skip


@pytest.mark.parametrize(
    ("workers", "more", "parts"),
    [
        (5, [], ["skips levels that need more than 4 workers", "-e fit=true"]),
        (4, [], ["skips levels that need more than 4 workers", "-e fit=true"]),
        (
            3,
            ["--fit"],
            ["need more than 4 workers", "the inventory has only 3 now", "another run name"],
        ),
    ],
)
def test_a_fitted_run_does_not_go_on_as_another(tmp_path, capsys, workers, more, parts):
    path = tmp_path / "night" / "plan.jsonl"
    _, _, plan = planned(capsys, path, 4, "--fit")
    code, said, after = planned(capsys, path, workers, *more)
    assert code == 2
    assert [part for part in parts if part not in said] == []
    assert after == plan


def test_a_plan_that_leaves_nothing_out_is_the_plan_without_fit(tmp_path, capsys):
    whole = planned(capsys, tmp_path / "a" / "plan.jsonl", 5)[2]
    assert planned(capsys, tmp_path / "b" / "plan.jsonl", 5, "--fit")[2] == whole
    assert b"fitted_to" not in whole
    code, said, after = planned(capsys, tmp_path / "a" / "plan.jsonl", 3, "--fit")
    assert code == 2
    assert "it skips no level, and 3 workers are too few for all levels" in said
    assert after == whole


def test_of_several_studies_all_are_planned_or_none(tmp_path):
    paths = [tmp_path / name / "plan.jsonl" for name in ("one", "two")]
    asked = ["--profile", "demo", "--workers", "5", *(f"-o{path}" for path in paths)]
    assert main(["plan", "sort", "nosuch", *asked]) == 2
    assert main(["plan", "sort", *asked]) == 2
    assert not any(path.exists() for path in paths)
    write_plan(paths[1], make_plan(PAPER))
    assert main(["plan", "sort", "mtom", *asked]) == 2
    assert not paths[0].exists()
    paths[1].unlink()
    assert main(["plan", "sort", "mtom", *asked]) == 0
    assert [read_plan(path)[0].study for path in paths] == ["sort", "mtom"]
    alone = tmp_path / "alone" / "plan.jsonl"
    main(["plan", "mtom", "--profile", "demo", "--workers", "5", "-o", str(alone)])
    assert alone.read_bytes() == paths[1].read_bytes()


def test_a_draft_takes_the_place_of_the_one_before_and_never_of_a_run(tmp_path, capsys):
    path, drafts = tmp_path / "night" / "plan.jsonl", tmp_path / "drafts"
    found = []
    for seed in ("1", "2"):
        code, said, plan = planned(capsys, path, 5, "--seed", seed, "--draft", str(drafts))
        assert (code, "written" in said, plan) == (0, True, b"")
        found.append((drafts / "night" / "plan.jsonl").read_bytes())
    _, _, plan = planned(capsys, path, 5, "--seed", "1")
    assert plan == found[0] != found[1]
    for seed, status in (("1", 0), ("3", 2)):
        code, said, after = planned(capsys, path, 5, "--seed", seed, "--draft", str(drafts))
        assert (code, after) == (status, plan), said
    assert (drafts / "night" / "plan.jsonl").read_bytes() == found[1]
    assert main(["plan", "sort", "--profile", "demo", "--workers", "5", "--draft", "x"]) == 2


@pytest.mark.parametrize(
    ("edit", "part"),
    [
        (lambda lines: [*lines, lines[0]], "is planned twice"),
        (lambda lines: [lines[0][:-20], *lines[1:]], "line 1"),
        (lambda lines: [lines[0].replace('"schema":1', '"schema":2'), *lines[1:]], "schema 1"),
        (lambda lines: [], "holds no trial"),
        (lambda lines: [*lines, "[]"], "schema 1"),
        (
            lambda lines: [lines[0].replace(":100000}", ':"100000"}'), *lines[1:]],
            "would be one cell",
        ),
        (
            lambda lines: [*lines[:-1], json.dumps(json.loads(lines[-1]), sort_keys=True)],
            "line 240 has the factors integers, servers, transport, but line 1 has transport",
        ),
    ],
)
def test_a_damaged_plan_is_refused(tmp_path, edit, part):
    path = tmp_path / "plan.jsonl"
    lines = plan_bytes(make_plan(PAPER)).decode().splitlines()
    path.write_text("".join(f"{line}\n" for line in edit(lines)))
    with pytest.raises(InputError, match=part):
        read_plan(path)


def test_a_warmup_that_calls_decide_is_in_the_plan_and_a_number_stays_a_number(tmp_path):
    rule = {"least": 20, "most": 2000, "steady": 0.02}
    path = tmp_path / "plan.jsonl"
    text = changed(warmup=rule, where=[{"cells": {"servers": 1}, "warmup": 7}])
    plan = make_plan(parse_study(text, "x").profile("paper", 5))
    write_plan(path, plan)
    lines = [json.loads(line)["warmup"] for line in path.read_text().splitlines()]
    assert {json.dumps(warmup) for warmup in lines} == {"7", json.dumps(rule)}
    assert read_plan(path) == plan
    path.write_text(path.read_text().replace('"most":2000', '"most":20'))
    with pytest.raises(InputError, match="which needs a least of 1 or more, and a most above it"):
        read_plan(path)


def test_each_block_has_its_own_starts_unless_a_profile_says_no(tmp_path):
    text = changed(profiles={"paper": {}, "quick": {"restart": "none"}})
    for profile, restart in (("paper", "block"), ("quick", "none")):
        plan = make_plan(parse_study(text, "x").profile(profile, 5))
        write_plan(tmp_path / profile, plan)
        assert {trial.restart for trial in read_plan(tmp_path / profile)} == {restart}


def test_a_run_that_was_planned_without_restarts_goes_on_without(tmp_path):
    path = tmp_path / "plan.jsonl"
    plan = make_plan(PAPER)
    lacking = {"restart": "", "drawing": 1, "least_ok": 0.0, "stop": EQUAL_PARTS}
    write_plan(path, [replace(trial, **lacking) for trial in plan])
    assert "restart" not in json.loads(path.read_text().splitlines()[0])
    assert not write_plan(path, plan)
    assert {trial.restart for trial in read_plan(path)} == {""}


def test_a_run_goes_on_with_the_drawing_of_data_that_it_began_with(tmp_path):
    path, plan = tmp_path / "plan.jsonl", make_plan(PAPER)
    assert {json.loads(line)["drawing"] for line in plan_bytes(plan).splitlines()} == {2}
    earlier = [replace(trial, stop=EQUAL_PARTS) for trial in make_plan(PAPER, drawing=1)]
    assert b"drawing" not in plan_bytes(earlier)
    lacking = {"drawing": 1, "least_ok": 0.0, "stop": EQUAL_PARTS}
    assert earlier == [replace(trial, **lacking) for trial in plan]
    write_plan(path, earlier)
    assert not write_plan(path, plan)
    assert read_plan(path) == earlier
    with pytest.raises(InputError, match="seed of trial 1"):
        write_plan(path, [replace(plan[0], seed=1), *plan[1:]])


@pytest.mark.parametrize(
    ("number", "text", "part"),
    [
        (0, '"drawing":3', "line 1 has the drawing 3, which this version does not know"),
        (0, '"drawing":0', "line 1 has the drawing 0, which"),
        (0, '"drawing":"2"', "line 1 has the drawing "),
        (5, '"drawing":1', "line 6 has the drawing 1, but line 1 has 2"),
    ],
)
def test_a_drawing_of_data_that_is_unknown_or_not_that_of_the_run_is_refused(
    tmp_path, number, text, part
):
    lines = plan_bytes(make_plan(PAPER)).splitlines(keepends=True)
    lines[number] = lines[number].replace(b'"drawing":2', text.encode())
    (tmp_path / "plan.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(InputError, match=part):
        read_plan(tmp_path / "plan.jsonl")


def test_an_unknown_restart_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"restart: 'night' is not one of"):
        parse_study(changed(restart="night"), "x")
    line = plan_bytes(make_plan(PAPER)).splitlines()[0]
    (tmp_path / "plan.jsonl").write_bytes(line.replace(b'"restart":"block"', b'"restart":"day"'))
    with pytest.raises(InputError, match='line 1 has the restart "day"'):
        read_plan(tmp_path / "plan.jsonl")


def test_least_seconds_of_a_warmup_are_in_the_plan_only_where_they_are_set(tmp_path):
    path, rule = tmp_path / "plan.jsonl", {"least": 20, "most": 2000, "steady": 0.02}
    texts = []
    for warmup in (rule, {**rule, "least_s": 2.5}):
        plan = make_plan(parse_study(changed(warmup=warmup), "x").profile("paper", 5))
        path.unlink(missing_ok=True)
        write_plan(path, plan)
        assert read_plan(path) == plan
        assert json.loads(path.read_text().splitlines()[0])["warmup"] == warmup
        texts.append(path.read_text())
    assert texts[0] == texts[1].replace(',"least_s":2.5', "")
    path.write_text(texts[1].replace('"least_s":2.5', '"least_s":0'))
    with pytest.raises(InputError, match="which needs a least_s above 0, in seconds"):
        read_plan(path)


def test_a_plan_says_which_share_of_calls_must_be_ok(tmp_path):
    path = tmp_path / "plan.jsonl"
    write_plan(path, make_plan(PAPER))
    assert {json.loads(line)["least_ok"] for line in path.read_text().splitlines()} == {0.9}
    assert read_plan(path) == make_plan(PAPER)
    text = path.read_text()
    for least_ok in ("0", "1.5", "-0.5", "true", '"0.9"', "NaN"):
        path.write_text(text.replace('"least_ok":0.9', f'"least_ok":{least_ok}'))
        with pytest.raises(InputError, match=r"plan\.jsonl: line 1 "):
            read_plan(path)
    path.write_text(text.replace('"least_ok":0.9', '"least_ok":0.5', 1))
    with pytest.raises(InputError, match=r"line 2 has the least_ok 0\.9, but line 1 has 0\.5"):
        read_plan(path)


def test_a_run_that_was_planned_without_a_share_of_ok_calls_goes_on_without(tmp_path):
    path = tmp_path / "plan.jsonl"
    plan = make_plan(PAPER)
    before = [replace(trial, least_ok=0.0, drawing=1, stop=EQUAL_PARTS) for trial in plan]
    write_plan(path, before)
    content = path.read_bytes()
    assert b"least_ok" not in content
    assert not write_plan(path, plan)
    assert path.read_bytes() == content
    assert read_plan(path) == before
    with pytest.raises(InputError, match="exists with another plan: seed of trial 1"):
        write_plan(path, [replace(trial, seed=1) for trial in plan])


def test_only_blocks_that_count_rotate_and_others_are_of_one_kind():
    text = changed(profiles={"paper": {"replicates": 3, "profile_forks": 2}})
    plan = make_plan(parse_study(text, "x").profile("paper", 5), rotate=2, capture=True)
    blocks = {t.block: (t.id[0], t.shift, t.profiled, t.captured, t.counts) for t in plan}
    assert blocks == {
        1: ("b", 0, False, False, True),
        2: ("b", 1, False, False, True),
        3: ("b", 0, False, False, True),
        4: ("p", 0, True, False, False),
        5: ("p", 0, True, False, False),
        6: ("c", 0, False, True, False),
    }


def test_a_trial_makes_at_most_its_longest_warm_up_and_its_measured_calls():
    rule = {"least": 20, "most": 200, "steady": 0.02}
    text = changed(warmup=rule, calls=7, threads=3)
    for trial in make_plan(parse_study(text, "x").profile("paper", 5)):
        assert trial.rows == trial.threads * (200 + trial.calls)


def test_data_and_order_of_a_plan_are_those_of_every_version():
    """Recorded: an archive is rerun with the same data in the same order."""
    text = changed(profiles={"paper": {"replicates": 2}})
    plan = make_plan(parse_study(text, "x").profile("paper", 5), seed=2004)
    assert {trial.block: trial.seed for trial in plan} == {
        1: 4569414951117790819,
        2: 3510015296831601462,
    }
    assert [trial.id for trial in plan[:3]] == [
        "b01-t001-jms-5-100000",
        "b01-t002-soap-3-5000",
        "b01-t003-jms-1-5000",
    ]


def test_a_run_whose_plan_does_not_say_how_error_is_spent_goes_on(tmp_path):
    rule = {"half_width": 0.05, "looks": [3, 6]}
    study = parse_study(changed(replicates=6, stop=rule), "studies/test.yml")
    trials = make_plan(study.profile("paper", 5))
    path = tmp_path / "run" / "plan.jsonl"
    write_plan(path, trials)
    assert read_plan(path)[0].stop.spending == OBRIEN_FLEMING
    stated = b',"spending":"obrien-fleming"'
    assert path.read_bytes().count(stated) == len(trials)
    earlier = path.read_bytes().replace(stated, b"")
    path.write_bytes(earlier)
    assert is_planned(path, trials)
    write_plan(path, trials)
    assert path.read_bytes() == earlier
    assert read_plan(path)[0].stop.spending == EQUAL
    path.write_bytes(earlier.replace(b'"half_width":0.05', b'"half_width":0.06'))
    with pytest.raises(InputError, match="exists with another plan"):
        is_planned(path, trials)
