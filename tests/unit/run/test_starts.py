"""Whether each block had a start of each server of its own, and what the report says of it."""

import json

import pytest
from synthetic import make_run

from collect.cells.analysis import analyse
from collect.proof.check import prove
from collect.replication.replicate import replicate
from collect.report.page import Section
from collect.report.provenance import facts_of
from collect.report.warnings import find_warnings
from collect.run.directory import open_run

STUDY = """
schema: 1
study: test
title: A study of two blocks
factors: {{size: [1, 2]}}
clients: hello
needs: [tomcat]
constants: {{client_heap_mb: 64}}
replicates: 2
calls: 3
warmup: 1
timeout_s: 60
seed: 1
{restart}
profiles: {{demo: {{}}}}
"""


@pytest.fixture
def made(tmp_path):
    """Make a run of two blocks of two trials, and say what it records."""

    def make(restart="restart: block", **changes):
        directory = tmp_path / "run"
        make_run(
            directory, lambda planned, rng: [1.0, 1.1, 1.2], study=STUDY.format(restart=restart)
        )
        for number, path in enumerate(sorted(directory.glob("trials/*/trial.json")), start=1):
            record = json.loads(path.read_text()) | changes.get(f"t{number}", {})
            path.write_text(json.dumps(record))
        return open_run(str(directory))

    return make


def served_by(start, **more):
    return {"services": {"tomcat on worker1": start}, **more}


def said(run):
    return [finding.text for finding in prove(run).findings if finding.kind == "starts"]


def test_a_start_for_each_block_is_as_planned(made):
    run = made()
    assert prove(run).findings == ()
    assert find_warnings(analyse(run)) == []


def test_two_starts_in_a_block_are_found(made):
    run = made(t2=served_by("another"))
    (text,) = said(run)
    assert text.startswith(run.plan[1].id)
    assert "tomcat on worker1 was restarted within block 1 and had 2 starts there" in text
    (warning,) = find_warnings(analyse(run))
    assert warning.is_grave
    assert warning.details == (text,)


def test_a_start_for_each_setting_of_a_block_is_as_planned(tmp_path):
    """The collector varies by a constant, which services go by as well."""
    directory = tmp_path / "run"
    study = STUDY.format(restart="restart: block")
    study = study.replace("{size: [1, 2]}", "{size: [serial, g1]}")
    study = study.replace("{client_heap_mb: 64}", "{client_heap_mb: 64, collector: size}")
    make_run(directory, lambda planned, rng: [1.0, 1.1, 1.2], study=study)
    for path in directory.glob("trials/*/trial.json"):
        record = json.loads(path.read_text())
        record["services"] = {"tomcat on worker1": f"{record['block']}{record['factors']['size']}"}
        path.write_text(json.dumps(record))
    assert said(open_run(str(directory))) == []


def test_the_report_says_that_services_were_restarted_between_groups_and_not_warmed(tmp_path):
    study = STUDY.format(restart="restart: none") + "node: {tomcat_threads: size}\n"
    make_run(tmp_path / "run", lambda planned, rng: [1.0, 1.1, 1.2], study=study)
    analysed = analyse(open_run(str(tmp_path / "run")))
    (fact,) = [fact for fact in facts_of(analysed) if fact.name == "Starts of the servers"]
    assert fact.text == "one for each group of trials with its own settings (restart: none)"
    assert not Section(1, analysed, replicate(analysed), "").has_single_starts
    texts = [warning.text for warning in find_warnings(analysed)]
    assert [text for text in texts if "nothing warmed them before the first trial" in text]


def test_a_start_that_two_blocks_share_is_found(made):
    run = made(t3=served_by("of-1"), t4=served_by("of-1"))
    (text,) = said(run)
    assert text.startswith(run.plan[2].id)
    assert "was not restarted after block 1, so blocks 1 and 2" in text


def test_a_server_that_ran_out_of_memory_begins_anew_as_it_must(made):
    reason = "tomcat on worker1 ran out of memory (exit-code exited 3)"
    changes = {"outcome": "oom", "reason": reason}
    assert said(made(t1=changes, t2=served_by("another"))) == []


def test_a_lack_of_memory_in_one_block_explains_nothing_in_another(made):
    reason = "tomcat on worker1 ran out of memory (exit-code exited 3)"
    oom = {"outcome": "oom", "reason": reason}
    (text,) = said(made(t1=oom, t2=served_by("another"), t4=served_by("a third")))
    assert "tomcat on worker1 was restarted within block 2 and had 2 starts there" in text


def test_another_reason_explains_no_second_start(made):
    changes = {"outcome": "oom", "reason": "the client's JVM ran out of memory (heap 64 MiB)"}
    assert len(said(made(t1=changes, t2=served_by("another")))) == 1


def test_what_is_not_recorded_is_not_proven(made):
    (text,) = said(made(t1={"services": None}))
    assert "1 of 4 trials" in text


@pytest.mark.parametrize("restart", ["restart: none", "restart: block"])
def test_the_report_says_on_how_many_starts_its_numbers_hang(made, restart):
    spent = [{"restart_ms": 1500.0, "warm_ms": 1500.0}]
    run = made(restart, t1={"block_starts": spent}, t3={"block_starts": spent})
    analysed = analyse(run)
    (fact,) = [fact for fact in facts_of(analysed) if fact.name == "Starts of the servers"]
    if restart == "restart: none":
        assert fact.text.startswith("one for all blocks")
        assert Section(1, analysed, replicate(analysed), "").has_single_starts
    else:
        # Two trials of 1.5 s a block, and 3 s before them.
        assert "(3 s a block, 50 % of its time)" in fact.text
        assert not Section(1, analysed, replicate(analysed), "").has_single_starts
    assert not find_warnings(analysed)
