import os
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from synthetic import reseal, seal

from collect import start
from collect.cli import main
from collect.run.plan import read_plan

ROOT = Path(__file__).parents[2]
COMMANDS = (
    *("plan", "check", "status", "report", "anova", "compare", "export", "import"),
    *("archive", "rerun"),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert f"collect {command} " in printed
    assert "examples:" in printed
    assert "exit codes: 0 success, 1 findings, 2 bad usage or input" in printed


@pytest.mark.parametrize("program", ["collect.cli", "collect.front.cli"])
def test_a_program_starts_without_what_only_analyses_need(program):
    code = f"import sys, {program}; print({{'numpy', 'scipy', 'pandas'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nothing"],
        ["plan"],
        ["plan", "sort", "--profile", "demo", "--workers", "none"],
        ["plan", "sort", "--profile", "demo", "--workers", "0"],
        ["plan", "sort", "--profile", "demo", "--workers", "5", "--seed", "-1"],
        ["report"],
        ["power", "load", "--refine", "--json"],
    ],
)
def test_bad_usage_ends_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "nowhere"],
        ["status", "nowhere"],
        ["report", "nowhere"],
        ["plan", "nowhere.yml", "--profile", "demo", "--workers", "5"],
        ["plan", "sort", "--profile", "nowhere", "--workers", "5"],
    ],
)
def test_what_does_not_exist_is_one_message(arguments, capsys):
    assert main(arguments) == 2
    message = capsys.readouterr().err
    assert "nowhere" in message
    assert "Traceback" not in message


def test_a_directory_without_a_plan_is_no_run(tmp_path, capsys):
    assert main(["check", str(tmp_path)]) == 2
    assert "holds no plan.jsonl" in capsys.readouterr().err


def test_a_broken_run_json_is_one_message(run_of, capsys):
    run = run_of()
    (run.directory / "run.json").write_text("{")
    assert main(["check", str(run.directory)]) == 2
    assert "run.json" in capsys.readouterr().err


def test_plan_tells_how_often_the_nodes_are_set(tmp_path, capsys):
    output = tmp_path / "night" / "plan.jsonl"
    assert main(["plan", "link", "--profile", "demo", "--workers", "5", "-o", str(output)]) == 0
    rates = [trial.node["link_mbit"] for trial in read_plan(output)]
    changes = sum(one != other for one, other in pairwise(rates))
    told = f"12 trials (6 cells x 2 blocks, 3 settings of the nodes with {changes} changes)"
    assert told in capsys.readouterr().out


def test_plan_writes_once_and_refuses_another(tmp_path, capsys):
    output = tmp_path / "night" / "plan.jsonl"
    arguments = ["plan", "sort", "--profile", "demo", "--workers", "5", "-o", str(output)]
    assert main(arguments) == 0
    assert "30 trials (10 cells x 3 blocks), written" in capsys.readouterr().out
    content = output.read_bytes()
    assert main(arguments) == 0
    assert "unchanged" in capsys.readouterr().out
    assert main([*arguments, "--seed", "1"]) == 2
    assert "choose another run name" in capsys.readouterr().err
    assert output.read_bytes() == content
    assert main(arguments[:-2]) == 0
    assert capsys.readouterr().out.encode() == content


def test_a_file_that_cannot_be_written_is_named_with_a_next_step(tmp_path, capsys):
    path = tmp_path / ("x" * 250)  # the name of its temporary file is too long
    words = ["plan", "sort", "--profile", "demo", "--workers", "5", "-o", str(path)]
    assert main(words) == 2
    assert capsys.readouterr().err == (
        f"collect: {path}: File name too long; correct that and run the same command again\n"
    )


def test_plan_is_the_same_in_another_process_with_other_hash_seeds():
    command = [sys.executable, "-m", "collect", "plan", "sort", "--profile=demo", "--workers=5"]
    outputs = {
        subprocess.run(
            command, env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_a_table_for_a_reader_that_has_closed_its_pipe_is_no_finding(tmp_path):
    (tmp_path / "times.csv").write_text("a,y\nx,1\nx,2\nz,4\nz,6\n")
    reading, writing = os.pipe()
    os.close(reading)
    words = ["anova", str(tmp_path / "times.csv"), "--response", "y", "--factor", "a"]
    done = subprocess.run(
        [sys.executable, "-m", "collect", *words],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_closed_standard_output_is_no_finding(tmp_path):
    (tmp_path / "times.csv").write_text("a,y\nx,1\nx,2\nz,4\nz,6\n")
    words = ["anova", str(tmp_path / "times.csv"), "--response", "y", "--factor", "a"]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "collect", *words],
        stderr=subprocess.PIPE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_terminal_without_unicode_gets_the_table_with_question_marks(tmp_path):
    (tmp_path / "times.csv").write_text("Ω,y\na,1\na,2\nz,4\nz,6\n", encoding="utf-8")
    words = ["anova", "times.csv", "--response", "y", "--factor", "Ω"]
    done = subprocess.run(
        [sys.executable, "-m", "collect", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\n?  " in done.stdout


@pytest.mark.parametrize(("program", "locale"), [("collect", "C"), ("collect.front", "POSIX")])
def test_the_locale_c_without_unicode_gets_the_table_with_question_marks(tmp_path, program, locale):
    done = subprocess.run(
        [sys.executable, "-m", program, "power", "sample-sort"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "0", "LC_ALL": locale},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"blocks for ?5 %" in done.stdout


def test_the_library_of_charts_that_is_kept_is_read_in_the_locale_c(tmp_path):
    code = (
        "from collect.replication.charts import script; made = script(); script.cache_clear(); "
        "assert script() == made"
    )
    locale = {"PYTHONUTF8": "0", "LC_ALL": "C", "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **locale}, cwd=ROOT, check=False
    )
    assert done.returncode == 0
    assert list(tmp_path.glob("rackbench/charts-*.js"))


@pytest.mark.parametrize("program", [start.collect, start.rackbench])
def test_ctrl_c_during_imports_ends_in_silence(program, monkeypatch):
    def interrupted(name):
        raise KeyboardInterrupt

    monkeypatch.setattr("importlib.import_module", interrupted)
    assert program() == 130
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts[program.__name__] == f"collect.start:{program.__name__}"


def test_check_passes_a_whole_run(run_of, capsys):
    assert main(["check", str(run_of().directory)]) == 0
    assert "36 of 36 trials sealed and verified; no findings" in capsys.readouterr().out


def test_check_lists_everything_that_is_wrong(run_of, capsys):
    run = run_of(until=34)
    names = [trial.id for trial in run.plan]
    (run.trials_directory / names[0] / "trial.json").unlink()
    log = run.trials_directory / names[1] / "calls.csv"
    log.write_bytes(log.read_bytes() + b"0,0,measure,,1,1,1,1,ok\n")
    (run.trials_directory / names[2]).rename(run.trials_directory / "copy-of-a-trial")
    (run.trials_directory / ".incoming-1").mkdir()
    assert main(["check", str(run.directory)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[:-2]] == ["refused"] * 2 + ["stray"] + [
        "missing"
    ] * 3
    for name, line in zip(
        [*names[:2], "copy-of-a-trial", names[2], *names[34:]], lines, strict=False
    ):
        assert name in line
    assert "31 of 36 trials sealed and verified; 6 findings" in lines[-1]


def test_check_finds_rows_that_repeat(run_of, capsys):
    run = run_of()
    reseal(run.trials_directory / run.plan[0].id, lambda text: text.replace("\n3,", "\n4,", 1))
    assert main(["check", str(run.directory)]) == 1
    assert "gaps or repetitions in seq" in capsys.readouterr().out


def test_a_run_is_found_by_name_in_results(run_of, tmp_path, monkeypatch, capsys):
    run = run_of(name="named")
    seal(run.directory / "other", run.plan[0], [1.0] * run.plan[0].calls)
    monkeypatch.chdir(tmp_path)
    assert main(["check", "named"]) == 0
    assert main(["check", "unnamed"]) == 2
    assert "one of named" in capsys.readouterr().err
