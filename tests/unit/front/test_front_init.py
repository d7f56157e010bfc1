"""Project directories: made whole or not at all, and found from inside."""

import re
from pathlib import Path

import pytest
import yaml
from jinja2 import Template
from stand_in import ROOT, end, failed, play
from synthetic import make_run, sort_times

from collect.cli import main as collect
from collect.commands import rerun
from collect.errors import InputError
from collect.front.cli import main
from collect.project import find_project, results
from collect.run.study import find_study


@pytest.fixture
def mylab(checkout, tmp_path):
    """A project with one machine that has two parts, and two others."""
    command = "init ../mylab --client 10.0.0.1 --broker 10.0.0.1 --worker 10.0.0.2 --worker rack3"
    assert main(command.split()) == 0
    return tmp_path / "mylab"


def test_a_project_holds_what_it_was_told(capsys, mylab, checkout):
    hosts = yaml.safe_load((mylab / "inventory/hosts.yml").read_text())
    groups = hosts["all"]["children"]["nodes"]["children"]
    assert groups["client"]["hosts"] == {"client1": {"ansible_host": "10.0.0.1"}}
    assert groups["broker"]["hosts"] == {"client1": {"ansible_host": "10.0.0.1"}}
    assert [*groups["workers"]["hosts"]] == ["worker1", "worker2"]
    lab = yaml.safe_load((mylab / "inventory/group_vars/all/lab.yml").read_text())
    assert lab["rackbench_lab"] == "mylab"
    assert yaml.safe_load((mylab / "rackbench.yml").read_text()) == {"checkout": str(checkout.root)}
    assert (mylab / "studies").is_dir()
    assert (mylab / "results").is_dir()
    said = capsys.readouterr().out
    steps = re.findall(r"^  rackbench (\w+)", said, re.M)
    assert steps == ["doctor", "trust", "doctor", "site", "run"]
    assert "FILL-IN" not in said


@pytest.mark.parametrize(("workers", "word"), [(2, "run sort --fit"), (5, "run sort")])
def test_the_first_sweep_is_one_that_these_workers_can_serve(checkout, workers, word, capsys):
    machines = [f"--worker=10.0.0.{number}" for number in range(3, 3 + workers)]
    assert main(["init", "../mylab", "--client=10.0.0.1", "--broker=10.0.0.2", *machines]) == 0
    (said,) = re.findall(r"^  rackbench (run .*?) +#", capsys.readouterr().out, re.M)
    assert said == word


@pytest.mark.parametrize("part", ["secrets", "ssh"])
def test_a_lab_that_would_share_the_keys_of_another_is_told(checkout, part, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["init", "../mylab"]) == 0
    assert "of a lab with the same name" not in capsys.readouterr().out
    kept = checkout.root / f"state/rackbench/mylab/{part}"
    kept.mkdir(parents=True)
    assert main(["init", "../elsewhere/mylab"]) == 0
    said = capsys.readouterr().out.rpartition("\n\n")[2]
    assert f"{kept.parent} has the keys and passwords" in " ".join(said.split())
    assert "write another rackbench_lab into" in " ".join(said.split())


def test_the_next_steps_work_as_they_are_printed(checkout, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["my bin/rackbench"])  # not found by its name
    assert main(["init", "../-x/mylab", "--virtual"]) == 0
    said = capsys.readouterr().out
    assert f"  cd {tmp_path}/-x/mylab\n" in said
    started = re.escape(f"{checkout.root}/my bin/rackbench")
    steps = re.findall(rf"^  '{started}' (\w+)", said, re.M)
    assert steps == ["doctor", "lab", "site", "run"]


def test_what_help_and_messages_propose_lies_outside_of_a_checkout_or_project(checkout, capsys):
    assert main(["lab", "up"]) == 2
    said = capsys.readouterr().err
    for words in (["--help"], ["init", "--help"]):
        with pytest.raises(SystemExit):
            main(words)
        said += capsys.readouterr().out
    proposed = re.findall(r"rackbench init ([\w~/]+)", said)
    assert set(proposed) == {"~/mylab", "~/trial"}


def test_without_a_terminal_addresses_are_left_to_fill_in(checkout, tmp_path, capsys):
    assert main(["init", "../mylab"]) == 0
    text = (tmp_path / "mylab/inventory/hosts.yml").read_text()
    assert text.count('"FILL-IN"') == 5
    assert "inventory/hosts.yml" in capsys.readouterr().out


def test_on_a_terminal_it_asks(checkout, tmp_path, monkeypatch):
    answers = iter(["10.0.0.1", "", "10.0.0.2, 10.0.0.3", "me", "~/.ssh/lab"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: next(answers))
    assert main(["init", "../mylab"]) == 0
    nodes = yaml.safe_load((tmp_path / "mylab/inventory/hosts.yml").read_text())["all"]["children"][
        "nodes"
    ]
    assert nodes["vars"]["ansible_user"] == "me"
    assert nodes["vars"]["ansible_ssh_private_key_file"] == "~/.ssh/lab"
    assert [*nodes["children"]["broker"]["hosts"]] == ["client1"]
    workers = nodes["children"]["workers"]["hosts"].values()
    assert [worker["ansible_host"] for worker in workers] == ["10.0.0.2", "10.0.0.3"]


def test_an_answer_that_is_left_out_is_left_to_fill_in(checkout, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or "")
    assert main(["init", "../mylab"]) == 0
    assert not [question for question in asked if "FILL-IN" in question]
    assert (tmp_path / "mylab/inventory/hosts.yml").read_text().count('"FILL-IN"') == 5


@pytest.fixture
def asked(monkeypatch):
    """Return what sets the answers of the person at the terminal, and returns the questions."""

    def answering(*answers):
        questions, left = [], iter(answers)

        def typed(question):
            questions.append(question.partition(" ")[0])
            return next(left)

        monkeypatch.setattr("sys.stdin.isatty", lambda: True)
        monkeypatch.setattr("builtins.input", typed)
        return questions

    return answering


def test_a_wrong_answer_is_told_and_asked_for_again_before_the_next_question(
    checkout, tmp_path, asked, capsys
):
    client, workers = ("10.0.0;1", "10.0.0.1"), (", ", "10.0.0.2, 10.0.0.3")
    questions = asked(*client, "", *workers, "my name", "me", "")
    assert main(["init", "../mylab"]) == 0
    assert [*map(questions.count, ("Address", "Addresses", "Account", "Private"))] == [3, 2, 2, 1]
    said = capsys.readouterr().out
    for wrong in ("'10.0.0;1' is neither", "',' is neither", "'my name' contains a space"):
        assert wrong in said
    hosts = yaml.safe_load((tmp_path / "mylab/inventory/hosts.yml").read_text())
    nodes = hosts["all"]["children"]["nodes"]
    assert nodes["vars"]["ansible_user"] == "me"
    assert [*nodes["children"]["broker"]["hosts"]] == ["client1"]
    assert [*nodes["children"]["workers"]["hosts"]] == ["worker1", "worker2"]


def test_a_second_wrong_answer_ends_before_the_next_question(checkout, tmp_path, asked, capsys):
    questions = asked("10.0.0.1", "10.0.0.2", "rack3 rack3", "rack3 rack4 rack3")
    assert main(["init", "../mylab"]) == 2
    assert questions == ["Address", "Address", "Addresses", "Addresses"]
    said = capsys.readouterr()
    assert "named twice in rack3 rack3;" in said.out
    assert "named twice in rack3 rack4 rack3; name each once" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["kit"]


@pytest.mark.parametrize("words", ["--broker a;b", "--worker a --worker a", "--user a#b"])
def test_wrong_options_are_refused_before_the_first_question(checkout, asked, words):
    questions = asked()
    assert main(["init", "../mylab", *words.split()]) == 2
    assert questions == []


@pytest.mark.parametrize(("interruption", "code"), [(KeyboardInterrupt, 130), (EOFError, 2)])
def test_ctrl_c_or_ctrl_d_at_a_question_leaves_nothing(
    checkout, monkeypatch, capsys, interruption, code
):
    def interrupted(question):
        raise interruption

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", interrupted)
    assert main(["init", "../mylab"]) == code
    said = capsys.readouterr()
    assert "nothing was made" in said.out + said.err
    assert [path.name for path in checkout.root.parent.iterdir()] == ["kit"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("../kit", "already exists"),
        ("inside", "inside: lies inside the checkout /"),
        ("../Bad_Name", "cannot name a lab"),
        ("../mylab --client a;b", "neither an address nor the name"),
        ("../mylab --client a --worker b --worker b", "named twice"),
        ("../mylab --checkout ..", "not a clone of rackbench"),
        ("../mylab --virtual --client a", "--virtual makes its own machines; omit --client"),
        ("../mylab --virtual --worker a --worker b", "omit --client, --broker, --worker"),
        ("../mylab --virtual --key ~/.ssh/lab", "omit --client, --broker, --worker"),
        (f"../{'a' * 25} --virtual", "the name of a virtual lab has at most 24"),
    ],
)
def test_what_cannot_be_made_is_one_message_and_leaves_nothing(
    checkout, tmp_path, words, reason, capsys
):
    assert main(["init", *words.split()]) == 2
    assert reason in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kit"]


@pytest.mark.parametrize("length", [1, 13, 14, 18, 19, 24])
def test_the_bridge_of_a_virtual_lab_has_a_name_that_the_kernel_takes(length):
    defaults = yaml.safe_load((ROOT / "roles/virtual_lab/defaults/main.yml").read_text())
    bridge = Template(defaults["virtual_lab_bridge"]).render(virtual_lab_name="a" * length)
    assert bridge == f"{'a' * min(length, 13)}-0"


def test_the_path_of_a_key_is_seen_from_where_it_was_typed(checkout, tmp_path):
    assert main(["init", "../mylab", "--key", "keys/lab"]) == 0
    hosts = (tmp_path / "mylab/inventory/hosts.yml").read_text()
    assert f"{checkout.root}/keys/lab" in hosts


@pytest.mark.parametrize("name", ["trial", "on", "null"])
def test_a_virtual_project_has_the_virtual_lab(checkout, tmp_path, name):
    assert main(["init", f"../{name}", "--virtual"]) == 0
    lab = yaml.safe_load((tmp_path / name / "inventory/group_vars/all/lab.yml").read_text())
    assert (lab["rackbench_lab_kind"], lab["rackbench_lab"]) == ("virtual", name)


def test_commands_inside_find_results_studies_and_inventory(mylab, checkout, monkeypatch, capsys):
    make_run(mylab / "results/monday", sort_times)
    (mylab / "studies/own.yml").write_text(
        (checkout.root / "playbooks/studies/sort.yml").read_text()
    )
    monkeypatch.chdir(mylab / "studies")
    assert results() == mylab / "results"
    assert find_study("own") == mylab / "studies/own.yml"
    assert find_study("sort").is_file()
    assert main(["check", "monday"]) == 0
    assert main(["verify"]) == 0
    assert checkout.called[0][:2] == ["-i", str(mylab / "inventory")]
    capsys.readouterr()


def test_a_rerun_in_a_project_prints_the_inventory_that_it_takes(mylab, monkeypatch, capsys):
    taken = []
    monkeypatch.setattr(rerun, "run", lambda options: taken.append(options.inventory) or 0)
    monkeypatch.chdir(mylab / "studies")
    words = ["rerun", "night.zip", "--dry-run"]
    assert main([*words, "--verbose"]) == 0
    own = f"--inventory {mylab}/inventory"
    assert capsys.readouterr().err == f"collect rerun night.zip --dry-run {own}\n"
    assert main([*words, "--verbose", "--inventory", "../inventory"]) == 0
    said = "collect rerun night.zip --dry-run --inventory ../inventory\n"
    assert capsys.readouterr().err == said
    assert [Path(one).resolve() for one in taken] == [mylab / "inventory"] * 2


def test_a_rerun_takes_a_file_of_variables_from_here(mylab, monkeypatch, capsys):
    def lab(inventory, extra, play):
        raise InputError(f"the lab of {extra}")

    monkeypatch.setattr("collect.exchange.archive.rerun.Lab", lab)
    monkeypatch.chdir(mylab / "studies")
    (mylab / "studies/more.yml").touch()
    for program in (main, collect):
        assert program(["rerun", "night.zip", "--dry-run", "-e", "a=1", "-e", "@more.yml"]) == 2
        assert f"the lab of ('a=1', '@{mylab}/studies/more.yml')" in capsys.readouterr().err
        assert program(["rerun", "night.zip", "--dry-run", "-e", "@less.yml"]) == 2
        assert "-e @less.yml: there is no such file" in capsys.readouterr().err


def test_a_rerun_shows_its_steps_and_explains_a_failure(mylab, checkout, monkeypatch, capfd):
    checkout.have(workers=5)
    reason = "no route to host"
    checkout.tell(describe=[play("Take a snapshot"), failed("worker1", reason), end(ok=False)])
    monkeypatch.chdir(mylab)
    assert main(["rerun", "sample-sort", "--dry-run", "-e", "a=1"]) == 2
    (arguments,) = checkout.called
    own = ["-i", f"{mylab}/inventory", "playbooks/describe.yml"]
    assert (arguments[:3], arguments[-2:]) == (own, ["-e", "a=1"])
    said = capfd.readouterr()
    assert f"node:   worker1\nreason: {reason}\n" in said.out
    assert "again: rackbench rerun sample-sort" in said.out
    assert "-describe-" in said.out.rpartition("log:")[2]
    assert "the output of describe" not in said.out
    assert "the nodes could not be checked" in said.err


def test_a_checkout_that_is_gone_is_named(mylab, checkout, monkeypatch, capsys):
    monkeypatch.chdir(mylab)
    checkout.root.rename(checkout.root.with_name("moved"))
    assert main(["verify"]) == 2
    said = capsys.readouterr().err
    assert "rackbench.yml" in said
    assert "does not exist" in said


@pytest.mark.parametrize("text", ["", "checkout: [1]\n", "checkout: a: b\n"])
def test_a_broken_mark_is_one_message(mylab, text, monkeypatch, capsys):
    monkeypatch.chdir(mylab)
    (mylab / "rackbench.yml").write_text(text)
    assert main(["status", "monday"]) == 2
    assert "rackbench.yml" in capsys.readouterr().err
    (mylab / "rackbench.yml").unlink()
    assert find_project() is None
