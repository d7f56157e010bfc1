"""What holds for every command of rackbench."""

import json
from pathlib import Path

import pytest
from stand_in import ROOT

from collect.front.cli import main, make_parser, program
from collect.front.kit import find_checkout

OWN = ("init", "doctor", "trust", "lab", "site", "verify", "reset", "run", "night", "demo")
OF_COLLECT = (
    *("status", "check", "report", "compare", "power", "archive", "rerun", "export", "import"),
    *("plan", "anova", "look"),
)
PLAYING = ("doctor", "trust", "site", "verify", "lab up", "reset worker1", "run sort", "demo")


@pytest.mark.parametrize("command", [*OWN, *OF_COLLECT, "completion"])
def test_every_command_has_help_with_an_example_that_names_it(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert f"rackbench {command}" in printed.partition("example")[2]
    assert "collect " not in printed.replace("of collect ", "")


@pytest.mark.parametrize("words", [[], *([name] for name in (*OWN, *OF_COLLECT, "completion"))])
def test_prose_of_help_fits_into_60_columns(words, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > 60 and not line.startswith(" ")] == []
    assert len(lines) > 10


def test_a_wide_terminal_keeps_the_lines_of_help(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    assert (
        "Ctrl-C detaches and the sweep goes on; the same command attaches again."
        in capsys.readouterr().out
    )


def test_a_command_is_repeated_as_the_shell_finds_it(tmp_path, monkeypatch):
    started = tmp_path / "bin/rackbench"
    started.parent.mkdir()
    started.touch(mode=0o755)
    started.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(started), "site"])
    assert program() == str(started)
    monkeypatch.setenv("PATH", str(started.parent))
    assert program() == "rackbench"
    monkeypatch.setattr("sys.argv", ["/src/collect/front/__main__.py"])
    assert program() == "rackbench"


def test_the_commands_are_those_of_the_design():
    text = make_parser().format_help()
    assert all(f"    {command} " in text for command in (*OWN, *OF_COLLECT))


@pytest.mark.parametrize(
    "words", [[], ["nothing"], ["lab"], ["reset"], ["run"], ["night", "--from", "25:00"]]
)
def test_bad_usage_ends_with_2(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2


@pytest.mark.parametrize("words", PLAYING)
def test_without_a_clone_a_command_says_in_one_sentence_where_to_get_one(
    words, monkeypatch, tmp_path, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("collect.front.kit.find_checkout", lambda project: None)
    code = main(words.split())
    said = capsys.readouterr()
    assert code == (1 if words == "doctor" else 2)
    text = said.out if words == "doctor" else said.err
    assert "a clone of rackbench" in text
    assert "Traceback" not in text
    if words != "doctor":
        assert len(text.splitlines()) == 1


def test_arguments_for_ansible_are_refused_where_no_playbook_runs(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["check", "night", "--", "--limit", "worker1"])
    assert ended.value.code == 2
    assert "run playbooks" in capsys.readouterr().err


def test_a_command_of_collect_says_what_runs_behind_it(run_of, capsys):
    run = run_of()
    assert main(["check", str(run.directory), "--json", "--verbose"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["run"] == "night"
    assert told["verified"] == told["planned"] == len(run.plan)
    assert told["findings"] == []


def test_check_tells_findings_as_json(run_of, capsys):
    run = run_of(until=34)
    assert main(["check", str(run.directory), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {one["kind"] for one in found} == {"missing"}


def test_status_takes_the_newest_run(run_of, tmp_path, monkeypatch, capsys):
    run_of(name="older")
    monkeypatch.chdir(tmp_path)
    assert main(["status"]) == 0
    assert "run: older" in capsys.readouterr().out
    (tmp_path / "results/older").rename(tmp_path / "gone")
    assert main(["status"]) == 2
    assert "sample-sort" in capsys.readouterr().err


def test_a_directory_that_was_removed_meanwhile_is_named(tmp_path, monkeypatch, capsys):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["status"]) == 2
    assert capsys.readouterr().err.startswith("rackbench: the current directory: No such file")


def test_the_checkout_around_this_package_is_found_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_checkout(None) == ROOT
    assert (Path(ROOT) / "collect/studies/sort.yml").is_file()


def test_another_repository_of_ansible_is_no_checkout(tmp_path, monkeypatch):
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks/site.yml").touch()
    (tmp_path / "ansible.cfg").touch()
    monkeypatch.chdir(tmp_path)
    assert find_checkout(None) == ROOT
