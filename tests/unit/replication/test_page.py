"""The page of the replication: its commands print what stands there, also its numbers."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from collect.cli import main

ROOT = Path(__file__).parents[3]
ARCHIVES = sorted((ROOT / "docs/replication").glob("*.zip"))
PAGE = (ROOT / "docs/replication/README.md").read_text(encoding="utf-8")
COMMAND = re.compile(
    r"^`(collect [^`]+)`:\n\n((?:\|[^\n]*\n)+)|^```console\n(.*?)^```\n", re.M | re.S
)
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+")


def commands_of(text):
    """Yield each command of a text with what the page says that it prints."""
    for table, rows, console in COMMAND.findall(text):
        if table:
            yield table, rows
        for part in re.split(r"^\$ ", console, flags=re.M)[1:]:
            command, _, printed = part.partition("\n")
            yield command, printed


COMMANDS = list(commands_of(PAGE))


@pytest.mark.parametrize(("command", "printed"), COMMANDS, ids=range(len(COMMANDS)))
def test_a_command_prints_what_stands_below_it(command, printed):
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=ROOT,
        env={**os.environ, "PATH": path, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed


@pytest.mark.parametrize("section", re.split(r"^(?=## )", PAGE, flags=re.M), ids=lambda s: s[:30])
def test_each_number_of_the_text_is_printed_by_a_command_of_its_section(section):
    printed = " ".join(printed for _, printed in commands_of(section)).replace("\u202f", "")
    known = [float(number) for number in re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", printed)]
    unproven = []
    for text in NUMBER.findall(COMMAND.sub("", section)):
        half = 0.5 * 10.0 ** -len(text.partition(".")[2])
        if not any(abs(number - float(text)) <= half * 1.001 for number in known):
            unproven.append(text)
    assert unproven == []


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.stem)
@pytest.mark.parametrize(("form", "suffix"), [("replication", ".md"), ("chart", ".svg")])
def test_what_stands_beside_an_archive_comes_from_it(archive, form, suffix, capsys):
    assert main(["export", str(archive), "--format", form, "-o", "-"]) == 0
    assert capsys.readouterr().out == archive.with_suffix(suffix).read_text(encoding="utf-8")


def test_the_page_draws_each_run_that_it_archives():
    names = [path.stem for path in ARCHIVES]
    assert names
    for name in names:
        assert f"]({name}.svg)" in PAGE
        assert any(f"docs/replication/{name}.zip" in command for command, _ in COMMANDS)
