"""`rackbench run` and `rackbench night`: refusals in one sentence, detaching and attaching."""

import json
import os
import re
import shlex
import signal
import threading
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from machine import wait_for
from stand_in import ROOT, end, failed, interrupt_after, play
from synthetic import make_run, sort_times

from collect.front import process
from collect.front.cli import main
from collect.front.commands import night
from collect.front.screen import Screen
from collect.front.sweeping import Sweeping


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("run soort", "no study 'soort'"),
        ("run sort --profile nowhere", "no profile 'nowhere'"),
        ("run sort --profile paper", "3 workers"),
        ("run sort.yml", "not the name of a study"),
        ("run sort --profile sample --run a/b", "not a valid name"),
        ("run sort --profile sample --fit --without client1", "cannot skip client1"),
        ("run sort --profile sample --fit -e run=other", "use --run"),
        ("run sort --profile sample -e fit=true", "use --fit"),
        ("run sort --profile sample -e 'a=1 run=other'", "use --run"),
        ("""run sort --profile sample -e '{"seed": 7}'""", "use --seed"),
        ("run sort --profile sample -e @more.yml", "use --profile"),
        ("run sort --profile sample -- -e run=other", "use --run"),
        ("run sort --profile sample -- --forks 2 --extra-vars=rotate=true", "use --rotate"),
        ("night soort", "no study 'soort'"),
        ("night sort --profile nowhere", "no profile 'nowhere'"),
        ("night playbooks/studies/sort.yml", "not the name of a study; copy the file into"),
        ("night sort,mtom --check", "not the name of a study"),
        ("night", "no study is named"),
        ("night sort --from 22:00 --until 22:00", "has no length"),
    ],
)
def test_what_cannot_be_swept_is_refused_in_one_sentence(checkout, words, reason, capsys):
    (checkout.root / "more.yml").write_text("a: 1\nprofile: paper\n")
    assert main(shlex.split(words)) == 2
    said = capsys.readouterr().err
    assert reason in said
    assert len(said.splitlines()) == 1
    assert checkout.called == []


@pytest.mark.parametrize(
    "setting",
    [
        "run_note=other",
        "note='run=other'",
        '{"note": "run"}',
        "[1",
        "a='",
        "{a: !!bool maybe}",
        "[" * 5000,
    ],
)
def test_variables_that_choose_no_run_reach_the_sweep(checkout, setting):
    checkout.have(workers=5)
    assert main(["run", "sort", "-e", setting]) == 0
    assert setting in checkout.called[0]


@pytest.mark.parametrize(
    "words",
    [
        *("run sort", "site --yes", "verify", "night sort", "trust", "reset worker1 --yes"),
        "rerun sample-sort --yes -i inventory",
    ],
)
def test_an_inventory_half_filled_in_is_refused_in_one_sentence(checkout, words, capsys):
    checkout.have(worker2="FILL-IN", worker3="FILL-IN")
    assert main(words.split()) == 2
    said = capsys.readouterr().err
    assert "worker2, worker3 have no address yet" in said
    assert len(said.splitlines()) == 1
    assert checkout.called == []


def test_two_machines_of_one_address_are_refused_before_any_is_asked(checkout, capsys):
    checkout.have(worker2="192.0.2.1")
    assert main(["run", "sort", "--fit"]) == 2
    assert "client1 and worker2 have the same address" in capsys.readouterr().err
    assert checkout.called == []
    assert main(["reset", "worker1", "--yes"]) == 0  # a rack that is no bench is still reset


@pytest.mark.parametrize("more", [[], ["--", "-b", "--become-method=doas"]])
def test_another_way_to_root_is_refused_before_any_machine_is_asked(
    checkout, more, capsys, monkeypatch
):
    monkeypatch.setenv("ANSIBLE_BECOME_METHOD", "sudo" if more else "doas")
    assert main(["verify", *more]) == 2
    assert "--become-method is doas" in capsys.readouterr().err
    assert checkout.called == []
    monkeypatch.delenv("ANSIBLE_BECOME_METHOD")
    assert main(["verify"]) == 0


def test_another_plan_of_the_same_run_is_refused(checkout, capsys):
    make_run(checkout.root / "results/sort-sample", sort_times, profile="sample")
    assert main(["run", "sort", "--profile", "sample", "--seed", "7", "--fit"]) == 2
    assert "choose another run name" in capsys.readouterr().err
    assert checkout.called == []


def test_a_sweep_gets_its_settings_and_ends_with_a_link(checkout, capsys):
    checkout.have(workers=5)
    words = "run sort overhead --profile demo --run monday --fit --deadline 06:30"
    assert main(words.split()) == 0
    (arguments,) = checkout.called
    settings = {"study=sort,overhead", "profile=demo", "run=monday", "deadline=06:30", "fit=true"}
    assert settings <= set(arguments)
    assert capsys.readouterr().out.endswith(
        f"Report: file://{checkout.root}/results/monday/report.html\n"
    )


def test_a_sweep_that_its_deadline_ended_tells_the_open_trials(checkout, capsys):
    checkout.have(workers=5)
    said = {}
    for name, sealed in (("short", 4), ("whole", None)):
        run = checkout.root / "results" / name
        plan = make_run(run, sort_times, study="sort", profile="sample", until=sealed)
        words = ["run", "sort", "--profile", "sample", "--run", name, "--deadline", "06:30"]
        assert main(words) == 0
        said[name] = capsys.readouterr().out
    assert f"{len(plan) - 4} open trials left; to continue" in said["short"]
    assert said["short"].endswith("report.html\n")
    assert "open trial" not in said["whole"]


@pytest.fixture
def mylab(checkout, tmp_path):
    """A project directory outside the checkout, with a study of its own and one of another text."""
    root = tmp_path / "mylab"
    (root / "inventory").mkdir(parents=True)
    (root / "inventory/hosts.yml").touch()
    (root / "rackbench.yml").write_text(f"checkout: {checkout.root}\n")
    text = (ROOT / "playbooks/studies/sort.yml").read_text(encoding="utf-8")
    (root / "studies").mkdir()
    for name in ("own", "sort"):
        (root / f"studies/{name}.yml").write_text(text.replace("seed: ", "seed: 1"))
    checkout.have(workers=5)
    return root


@pytest.mark.parametrize("inventory", ["inventory", "inventory/hosts.yml"])
def test_a_sweep_of_a_project_named_from_elsewhere_is_followed_there(mylab, inventory, capsys):
    assert main(["run", "sort", "-i", str(mylab / inventory)]) == 0
    page = mylab / "results/sort-demo/report.html"
    assert capsys.readouterr().out.endswith(f"Report: {page.as_uri()}\n")


def test_the_studies_of_a_project_named_from_elsewhere_come_first(mylab, checkout, capsys):
    there = ["-i", str(mylab / "inventory")]
    assert main(["run", "own", *there]) == 0
    assert main(["night", "own", *there]) == 0
    make_run(mylab / "results/sort-sample", sort_times, profile="sample")
    assert main(["run", "sort", "--profile", "sample", "--fit", *there]) == 2
    assert "choose another run name" in capsys.readouterr().err


def test_a_project_does_not_follow_a_sweep_of_another_inventory(
    mylab, checkout, monkeypatch, capsys
):
    monkeypatch.chdir(mylab)
    assert main(["run", "sort", "-i", str(checkout.root / "inventory/example")]) == 0
    page = checkout.root / "results/sort-demo/report.html"
    assert capsys.readouterr().out.endswith(f"Report: {page.as_uri()}\n")
    assert main(["run", "own", "-i", str(checkout.root / "inventory/example")]) == 2


def test_ctrl_c_detaches_and_the_same_command_attaches_again(checkout):
    checkout.have(workers=5)
    checkout.tell(sweep=[play("Sweep"), end()])
    (checkout.root / "hold").touch()
    first = checkout.start("run", "sort", "--profile", "demo")
    wait_for(lambda: checkout.called, "the sweep begins")
    first.send_signal(signal.SIGINT)
    said, _ = first.communicate(timeout=20)
    assert first.returncode == 130, said
    assert "the sweep goes on" in said
    assert "attach again: rackbench run sort --profile demo" in said
    role = yaml.safe_load((ROOT / "roles/sweep/vars/main.yml").read_text(encoding="utf-8"))
    assert f"on the client: sudo systemctl stop {role['__sweep_unit']}" in said
    second = checkout.start("run", "sort", "--profile", "demo")
    assert second.stdout.readline().startswith("attached to the running sweep")
    later = checkout.start("run", "sort", "--profile", "demo", "--deadline", "06:30")
    said, _ = later.communicate(timeout=20)
    assert later.returncode == 2
    assert "give the same options to attach, or stop that sweep first: kill -INT -" in said
    (checkout.root / "hold").unlink()
    said, _ = second.communicate(timeout=20)
    assert second.returncode == 0, said
    assert len(checkout.called) == 1
    assert not (checkout.root / "stopped").exists()


def test_ctrl_c_before_the_sweep_starts_tells_that_nothing_was_started(
    checkout, monkeypatch, capsys
):
    checkout.have(workers=5)
    interrupt_after(monkeypatch, "collect.front.commands.run._demand_plans")
    assert main(["run", "sort"]) == 130
    assert capsys.readouterr().out == "nothing was started\n"
    assert checkout.called == []


@pytest.mark.parametrize("moment", ["play.start", "commands.run.remember"])
def test_ctrl_c_while_the_sweep_starts_detaches(checkout, moment, monkeypatch, capsys):
    checkout.have(workers=5)
    checkout.tell(sweep=[play("Sweep"), end()])
    (checkout.root / "hold").touch()
    interrupt_after(monkeypatch, f"collect.front.{moment}")
    assert main(["run", "sort"]) == 130
    said = capsys.readouterr().out
    assert re.match(r"detached; the sweep goes on as process \d+\nattach again: ", said)
    second = checkout.start("run", "sort")
    assert second.stdout.readline().startswith("attached to the running sweep")
    (checkout.root / "hold").unlink()
    assert second.wait(timeout=20) == 0
    assert len(checkout.called) == 1


def test_the_log_of_a_sweep_that_may_still_run_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name in ("sweeps", "logs"):
        (tmp_path / "rackbench" / name).mkdir(parents=True)
    logs = [tmp_path / f"rackbench/logs/{name:03}-sweep-1.log" for name in range(60)]
    for log in logs:
        log.touch()
    (tmp_path / "rackbench/sweeps/a.json").write_text(json.dumps({"log": str(logs[0])}))
    process._new_log("site.yml")
    assert [log.exists() for log in logs[:3]] == [True, False, False]


def test_the_time_left_is_not_guessed_before_a_trial_tells_it(checkout, monkeypatch):
    said = []
    monkeypatch.setattr(Screen, "now", lambda self, lines: said.extend(lines))
    checkout.have(workers=5)
    checkout.tell(sweep=[play("Sweep"), end()])
    (checkout.root / "hold").touch()
    threading.Timer(1, (checkout.root / "hold").unlink).start()
    assert main(["run", "sort", "--profile", "demo"]) == 0
    assert said
    assert not any("to go" in line for line in said)


@pytest.mark.parametrize(
    ("failures", "reason"),
    [([failed("client1", "the disk is full")], "the disk is full"), ([], "ended: the output of")],
)
def test_a_sweep_that_failed_while_nobody_watched_is_explained(checkout, failures, reason):
    checkout.have(workers=5)
    checkout.tell(sweep=[play("Sweep"), *failures, end(ok=False)])
    (checkout.root / "hold").touch()
    first = checkout.start("run", "sort", "--profile", "demo")
    wait_for(lambda: checkout.called, "the sweep begins")
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=20)
    second = checkout.start("run", "sort", "--profile", "demo")
    assert second.stdout.readline().startswith("attached")
    (checkout.root / "hold").unlink()
    said, _ = second.communicate(timeout=20)
    assert second.returncode == 1, said
    assert f"reason: {reason}" in said


def test_progress_is_that_of_the_sealed_trials(tmp_path):
    make_run(tmp_path / "one", sort_times, until=9)
    assert Sweeping([tmp_path / "one", tmp_path / "two"])() is None
    told = Sweeping([tmp_path / "one"])()
    assert told.text.startswith("9 of 36 trials")
    assert told.left_s > 0


def test_runs_in_long_paths_that_end_alike_have_a_note_each(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    one, other = (Path("/", lab, "ü" * 100, "ü" * 100) for lab in ("one", "other"))
    born = process._born(os.getpid())
    here = process.Process(os.getpid(), born, tmp_path / "a.log", tmp_path / "a.jsonl")
    process.remember([one], here)
    assert process.remembered([one]) == here
    assert process.remembered([other]) is None


def test_nights_sweep_the_virtual_lab_only_where_it_is_named(checkout, capsys):
    checkout.have(workers=5, kind="virtual")
    for words in (["sort"], ["--stop"]):
        assert main(["night", *words]) == 2
        assert capsys.readouterr().err == (
            "rackbench: without -i, the nights would sweep the virtual lab; name it with -i "
            f"{checkout.root}/inventory/virtual, or name the inventory of your machines\n"
        )
        assert checkout.called == []
    for words in (["sort"], ["--stop"]):
        assert main(["night", *words, "-i", "inventory/virtual"]) == 0


def told_to(arguments):
    """The variables that a playbook got."""
    told = {}
    for word, value in pairwise(arguments):
        if word == "-e":
            name, _, plain = value.partition("=")
            told |= json.loads(value) if value.startswith("{") else {name: plain}
    return told


def test_a_night_is_what_overnight_yml_is_told(checkout, capsys):
    checkout.have(workers=5)
    line = "0 22 * * * sweep-the-night"
    checkout.tell(
        overnight=[play("Set up or remove the nights"), {"event": "said", "text": line}, end()]
    )
    night = ["night", "sort", "overhead", "--from", "21:00", "--until", "06:00"]
    assert main([*night, "--days", "Mon,Fri"]) == 0
    assert told_to(checkout.called[0]) == {
        "overnight_begin": "21:00",
        "overnight_end": "06:00",
        "overnight_studies": ["sort", "overhead"],
        "overnight_days": ["Mon", "Fri"],
    }
    assert line in capsys.readouterr().out
    assert main(["night", "--stop"]) == 0
    assert "overnight_state=absent" in checkout.called[1]


def test_a_check_of_nights_names_the_log_that_shows_each_change(checkout, capsys):
    checkout.have(workers=5)
    assert main(["night", "sort", "--check"]) == 0
    assert checkout.called[0][-2:] == ["--check", "--diff"]
    (log,) = re.findall(r"^all done in .*; log: (\S+)$", capsys.readouterr().out, re.M)
    assert "the output of overnight" in Path(log).read_text()


def test_what_no_option_of_a_night_gives_is_that_of_the_inventory(checkout, capsys):
    checkout.have(workers=5)
    assert main(["night", "sort"]) == 0
    assert told_to(checkout.called[0]) == {"overnight_studies": ["sort"]}
    own = {"overnight_profile": "sample", "overnight_begin": "20:00", "overnight_fit": True}
    checkout.have(workers=2)
    checkout.set("localhost", **own)
    assert main(["night", "sort"]) == 0
    assert main(["night", "sort", "--until", "20:00"]) == 2
    assert "from 20:00 to 20:00 has no length" in capsys.readouterr().err
    checkout.set("localhost", overnight_profile="nowhere")
    assert main(["night", "sort"]) == 2
    assert "no profile 'nowhere'" in capsys.readouterr().err
    assert main(["night", "sort", "--profile", "demo"]) == 0
    assert told_to(checkout.called[-1])["overnight_profile"] == "demo"


def test_a_night_on_few_workers_skips_levels_where_that_is_asked_for(checkout, capsys):
    checkout.have(workers=2)
    assert main(["night", "sort"]) == 2
    assert "worker" in capsys.readouterr().err
    assert main(["night", "sort", "--fit"]) == 0
    assert told_to(checkout.called[0])["overnight_fit"] is True


def test_the_defaults_of_nights_are_those_of_their_role():
    role = yaml.safe_load((ROOT / "roles/overnight/defaults/main.yml").read_text(encoding="utf-8"))
    assert {name: role[name] for name in night.DEFAULTS} == night.DEFAULTS
