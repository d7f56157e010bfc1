"""Playbooks behind rackbench: their steps, failures, questions and interruptions."""

import io
import json
import os
import re
import signal
import time

import pytest
import yaml
from machine import wait_for
from rich.console import Console
from stand_in import ROOT, end, failed, interrupt_after, play
from test_at_work import plays_of

from collect.front.cli import main
from collect.front.commands import demo, lab
from collect.front.screen import Screen, clock

SITE = [
    play("Prepare every node", at=100.0),
    {"event": "task", "name": "baseline : Install | Get it"},
    play("Provision the broker", at=141.4),
    {**end(ok=True, client1=2, broker1=1), "at": 142.0},
]


def test_steps_are_shown_with_their_times_and_output_is_in_the_log(checkout, capsys):
    checkout.tell(site=SITE)
    assert main(["site", "--yes"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^done +0:41  Prepare every node$", said, re.M)
    assert "Provision the broker" not in said  # took less than a second
    assert "3 changes on 2 machines" in said
    assert "the output of site" not in said
    (log,) = (checkout.root / "state/rackbench/logs").glob("*-site-*.log")
    assert "the output of site" in log.read_text()
    assert checkout.played == ["build.yml", "site.yml"]


def test_it_says_what_changes_and_asks(checkout, capsys, monkeypatch):
    for words in ("site", "reset worker1"):
        assert main(words.split()) == 2
        said = capsys.readouterr()
        assert "worker1" in said.out
        assert "add --yes" in said.err
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: "n")
    assert main(["site"]) == 0
    assert "nothing was changed" in capsys.readouterr().out
    assert checkout.called == []


def test_a_check_builds_nothing_needs_no_root_and_counts_no_changes(checkout, capsys, monkeypatch):
    monkeypatch.setattr("collect.front.ask.has_root", lambda: False)
    checkout.tell(site=SITE)
    assert main(["site", "--check", "--limit", "workers"]) == 0
    assert checkout.played == ["site.yml"]
    assert checkout.called[0][3:] == ["--limit", "workers", "--check", "--diff"]
    assert "changes on" not in capsys.readouterr().out


def test_ctrl_c_at_the_question_says_that_nothing_was_changed(checkout, capsys, monkeypatch):
    def interrupted(question):
        raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", interrupted)
    for words in ("site", "reset worker1"):
        assert main(words.split()) == 130
        assert capsys.readouterr().out.endswith("\nnothing was changed\n")
    assert checkout.called == []


@pytest.mark.parametrize("words", ["site", "reset worker1"])
def test_the_changes_fit_into_60_columns(checkout, words, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert main([*words.split(), "--yes"]) == 0
    told, _, _ = capsys.readouterr().out.partition("all done")
    assert len(told.splitlines()) > 3
    assert [line for line in told.splitlines() if len(line) > 60 and " " in line.strip()] == []


@pytest.mark.parametrize(
    "limit", ["worker1,broker1", "workers:!worker3", "worker[1:2]", "~worker.*", "all", "@failed"]
)
def test_a_limit_is_of_machines_groups_and_patterns(checkout, limit):
    assert main(["site", "--yes", "--limit", limit]) == 0
    assert checkout.called[1][-2:] == ["--limit", limit]


@pytest.mark.parametrize("limit", ["worker1,clinet1", "workers:!worker9", "worker1, worker22"])
def test_a_limit_that_names_no_machine_is_refused_before_anything_runs(checkout, limit, capsys):
    for more in (["--yes"], ["--check"]):
        assert main(["site", "--limit", limit, *more]) == 2
        said = capsys.readouterr().err
        assert re.search(r"has no machine '(clinet1|worker9|worker22)'; name some of client1", said)
        assert len(said.splitlines()) == 1
    assert checkout.called == []


def test_a_failure_has_task_node_reason_next_step_and_log_each_once(checkout, capsys):
    reason = "No package 'jdk' is available"
    checkout.tell(
        site=[
            play("Prepare every node"),
            failed("worker3", reason),
            failed("worker3", f"worker3: Get it: {reason}", "Leave the node out"),
            play("Name the nodes that are not ready"),
            failed("localhost", f"worker3: Get it: {reason}", "Name the nodes"),
            end(ok=False),
        ]
    )
    assert main(["site", "--yes"]) == 1
    said = capsys.readouterr().out
    assert said.count(reason) == 1
    for line in ("task:   role : Install | Get it", "node:   worker3", "next: ", "log: "):
        assert said.count(f"\n{line}") == 1
    assert "again: rackbench site --yes" in said
    assert re.search(r"^failed .*Prepare every node$", said, re.M)


def test_nodes_that_fail_for_the_same_reason_but_for_their_names_share_one_failure(
    checkout, capsys
):
    table = "Values differ.\n\nitem       node{}  in force\nlink_mbit  {}  100"
    nodes = ["rack1", "broker1", "rack10"]
    failures = [failed(node, table.format(" " * (len(node) - 4), node)) for node in nodes]
    other = failed("rack2", "Values differ.\n\nitem       node   in force\nlink_mbit  rack2  10")
    checkout.tell(site=[play("Prepare every node"), *failures, other, end(ok=False)])
    assert main(["site", "--yes"]) == 1
    said = capsys.readouterr().out
    assert re.findall(r"(?m)^node: +(.*)$", said) == ["rack1, broker1, rack10", "rack2"]
    assert re.findall(r"(?m)^ +link_mbit +(.*)$", said) == ["rack1  100", "rack2  10"]


def test_a_playbook_that_ends_before_its_first_task_shows_its_last_words(checkout, capsys):
    checkout.tell(verify=[{"event": "end", "ok": False, "changed": {}}])
    assert main(["verify"]) == 1
    assert "ended with exit code 2: the output of verify" in capsys.readouterr().out


def test_verbose_prints_the_command_behind(checkout, capsys):
    assert main(["reset", "worker1", "--yes", "--verbose"]) == 0
    said = capsys.readouterr().out
    assert "ansible-playbook" in said
    assert "playbooks/reset.yml -e node=worker1" in said
    assert main(["reset", "nobody", "--yes"]) == 2
    assert "one of client1, broker1" in capsys.readouterr().err


def test_what_stands_after_two_hyphens_goes_to_ansible(checkout):
    assert main(["verify", "-e", "a=1", "--", "--limit", "worker1"]) == 0
    assert checkout.called[0][2:] == ["playbooks/verify.yml", "--limit", "worker1", "-e", "a=1"]


def test_a_file_of_variables_is_named_from_here(checkout, tmp_path, monkeypatch, capsys):
    elsewhere = checkout.root / "below"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (elsewhere / "more.yml").touch()
    assert main(["verify", "-e", "@more.yml"]) == 0
    assert f"@{elsewhere}/more.yml" in checkout.called[0]
    assert main(["verify", "-e", "@less.yml"]) == 2
    assert "-e @less.yml: there is no such file" in capsys.readouterr().err


def test_a_closed_pipe_stops_the_playbook(checkout, monkeypatch):
    def closed(*arguments):
        wait_for(lambda: checkout.called, "verify.yml begins")
        raise SystemExit(1)

    checkout.tell(verify=[play("Compare the nodes"), end()])
    (checkout.root / "hold").touch()
    monkeypatch.setattr("collect.front.play.follow", closed)
    with pytest.raises(SystemExit):
        main(["verify"])
    assert (checkout.root / "stopped").exists()


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"ansible_port": "22a"}, "worker1: ansible_port is '22a'; write a number"),
        ({"ansible_ssh_common_args": "-o 'X"}, "(No closing quotation); correct hosts.yml"),
    ],
)
def test_a_value_that_no_connection_can_have_is_one_message(checkout, capsys, values, reason):
    file = checkout.root / "inventory.json"
    content = json.loads(file.read_text())
    content["_meta"]["hostvars"]["worker1"] |= values
    file.write_text(json.dumps(content))
    assert main(["verify"]) == 2
    said = capsys.readouterr().err
    assert reason in said
    assert len(said.splitlines()) == 1


def test_an_inventory_that_is_not_yaml_is_told_by_its_line(checkout, tmp_path, capsys):
    place = tmp_path / "inventory"
    place.mkdir()
    (place / "hosts.yml").write_text("all:\n  children:\n    nodes: {\n")
    (checkout.root / "inventory.json").write_text('{"_meta": {"hostvars": {}}, "all": {}}')
    assert main(["verify", "-i", str(place)]) == 2
    assert f"{place}/hosts.yml: line 4 is not valid YAML" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"all: # K\xf6ln\n", "can't decode byte 0xf6"), (b"all: # \x07\n", "character #x0007")],
)
def test_an_inventory_that_is_no_text_is_one_sentence(checkout, tmp_path, content, reason, capsys):
    place = tmp_path / "inventory"
    place.mkdir()
    (place / "hosts.yml").write_bytes(content)
    (checkout.root / "inventory.json").write_text('{"_meta": {"hostvars": {}}, "all": {}}')
    assert main(["verify", "-i", str(place)]) == 2
    said = capsys.readouterr().err
    assert f"{place}/hosts.yml: is not plain UTF-8 text (" in said
    assert reason in said
    assert said.endswith("); save it as UTF-8\n")
    assert len(said.splitlines()) == 1


def test_the_reason_of_ansible_is_told_and_not_the_lines_of_the_file(checkout, capsys):
    program = checkout.root / ".venv/bin/ansible-inventory"
    said = "[ERROR]: YAML parsing failed: no colon\nOrigin: lab.yml:3:8\n\n3 x\n  ^ column 8"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{said}' >&2\nexit 4\n")
    assert main(["verify"]) == 2
    assert "YAML parsing failed: no colon Origin: lab.yml:3:8); correct" in capsys.readouterr().err


@pytest.mark.parametrize("locale", ["xx_XX.UTF-8", "C"])
def test_a_locale_that_this_machine_lacks_does_not_reach_ansible(checkout, locale, monkeypatch):
    monkeypatch.setenv("LC_ALL", locale)
    for name in ("ansible-inventory", "ansible-playbook"):
        program = checkout.root / ".venv/bin" / name
        real = program.rename(checkout.root / ".venv/bin" / f"{name}-real")
        program.write_text(f'#!/bin/sh\n[ "$LC_ALL" = C.UTF-8 ] && exec {real} "$@"\nexit 5\n')
        program.chmod(0o755)
    assert main(["verify"]) == 0


def test_without_sudo_the_lab_is_refused_in_one_sentence(checkout, capsys, monkeypatch):
    monkeypatch.setattr("collect.front.ask.has_root", lambda: False)
    assert main(["site", "--yes"]) == 2
    assert "building the programs needs root on this machine" in capsys.readouterr().err
    checkout.have(kind="virtual")
    for words in ("lab up", "demo"):
        assert main(words.split()) == 2
        assert capsys.readouterr().err.count("needs root on this machine") == 1
    assert checkout.called == []


@pytest.mark.parametrize("body", ['[ "$1" = -k ] && exit 1; exit 0', "exit 1"])
def test_a_password_that_sudo_remembers_for_this_terminal_is_no_root(
    checkout, tmp_path, body, capsys, monkeypatch
):
    sudo = tmp_path / "bin/sudo"
    sudo.parent.mkdir()
    sudo.write_text(f"#!/bin/sh\n{body}\n")
    sudo.chmod(0o755)
    monkeypatch.setenv("PATH", str(sudo.parent), prepend=os.pathsep)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("getpass.getuser", lambda: "j.doe")
    assert main(["site", "--yes"]) == 2
    rule = "echo 'j.doe ALL=(ALL) NOPASSWD: ALL' | sudo tee /etc/sudoers.d/j_doe"
    assert rule in capsys.readouterr().err
    sudo.write_text("#!/bin/sh\nexit 0\n")
    assert main(["site", "--yes"]) == 0


def test_a_lab_is_made_of_virtual_machines_only(checkout, capsys, monkeypatch):
    monkeypatch.setattr(lab, "demand_root", lambda what: None)
    monkeypatch.setattr(demo, "demand_root", lambda what: None)
    for words in ("lab up", "demo"):
        assert main(words.split()) == 2
        assert "lists real machines" in capsys.readouterr().err
    checkout.have(kind="virtual")
    assert main(["lab", "up"]) == 0
    assert main(["lab", "down"]) == 0
    assert checkout.played == ["lab.yml", "lab_down.yml"]


def test_the_demo_shows_few_lines_and_the_path_of_the_report_last(checkout, capsys, monkeypatch):
    monkeypatch.setattr(demo, "demand_root", lambda what: None)
    checkout.have(kind="virtual")
    checkout.tell(
        site=SITE, demo=[play("Sweep", at=0.0), {"event": "said", "text": "a message"}, end()]
    )
    assert main(["demo"]) == 0
    assert sorted(checkout.played[:2]) == ["build.yml", "lab.yml"]
    assert checkout.played[2:] == ["site.yml", "demo.yml"]
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"Report: {checkout.root}/results/demo/report.html"
    assert "a message" in lines
    assert len(lines) < 20


def test_the_demo_shows_a_line_for_each_play_at_most(checkout, capsys, monkeypatch):
    """Each play of the real playbooks takes two seconds: no demo without a failure has more."""
    monkeypatch.setattr(demo, "demand_root", lambda what: None)
    checkout.have(kind="virtual")
    told = {}
    for name in ("lab", "build", "site", "demo"):
        plays = [one["name"] for _, one in plays_of(f"{name}.yml")]
        told[name] = [play(step, at=2.0 * place) for place, step in enumerate(plays)]
        told[name].append({**end(), "at": 2.0 * len(plays)})
    told["demo"].insert(-1, {"event": "said", "text": "a message"})
    checkout.tell(**told)
    assert main(["demo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert 25 < len(lines) <= 35


def test_the_demo_counts_the_trials_of_the_studies_that_its_playbook_sweeps():
    (playbook,) = yaml.safe_load((ROOT / "playbooks/demo.yml").read_text())
    assert playbook["vars"]["study"].split(",") == [*demo._STUDIES]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_stops_the_playbook_and_says_how_to_go_on(checkout, number):
    checkout.tell(site=[play("Prepare every node"), end()])
    (checkout.root / "hold").touch()
    running = checkout.start("site", "--yes")
    wait_for(lambda: "site.yml" in checkout.played, "site.yml begins")
    time.sleep(0.5)
    running.send_signal(number)
    said, _ = running.communicate(timeout=20)
    assert running.returncode == 130, said
    assert "stopped in: Prepare every node" in said
    assert "continue with: rackbench site --yes" in said
    assert (checkout.root / "stopped").exists()


def test_ctrl_c_while_a_playbook_starts_stops_it(checkout, monkeypatch, capsys):
    checkout.tell(verify=[play("Compare the nodes"), end()])
    (checkout.root / "hold").touch()
    interrupt_after(monkeypatch, "collect.front.play.start")
    assert main(["verify"]) == 130
    assert "stopping verify.yml" in capsys.readouterr().out


def test_a_terminal_of_60_columns_and_no_colour(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=60, highlight=False, markup=False)
    with Screen(console) as screen:
        screen.now(["x" * 200, "about 3 min to go"])
        screen.step("Prepare every node", 41, is_good=True)
        screen.text("a line that is not cut: " + "/long" * 30 + "\x1b[31m")
    written = file.getvalue()
    assert "/long" * 30 in written
    assert "x" * 60 not in written
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", written)


def test_a_dumb_terminal_has_a_plain_line_a_minute(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("collect.front.screen._QUIET_S", 0.0)
    file = io.StringIO()
    with Screen(Console(file=file, force_terminal=True, highlight=False, markup=False)) as screen:
        screen.now(["Prepare every node", "about 3 min to go"])
    assert file.getvalue().strip() == "Prepare every node; about 3 min to go"


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (61, "1:01"), (3723, "1:02:03")])
def test_durations(seconds, text):
    assert clock(seconds) == text
