"""Commands of the pages are ones that the programs, the playbooks and the studies accept."""

import argparse
import io
import json
import re
import shlex
from contextlib import redirect_stderr
from itertools import pairwise

import pytest
import yaml
from test_doc_links import PAGES, ROOT

from collect import cli
from collect.front import cli as front

PARSERS = {"collect": cli.make_parser(), "rackbench": front.make_parser()}
SUBPARSERS = {
    name: action.choices
    for name, parser in PARSERS.items()
    for action in parser._actions
    if isinstance(action, argparse._SubParsersAction)
}
COMMAND = re.compile(r"(?<![\w.-])(?:[\w.~$/-]*/)?(collect|rackbench) ([a-z]+\b[^|;&>)\n]*)")
PLAYBOOK = re.compile(r"ansible-playbook ([^|;&\n]*)")
INLINE = re.compile(r"`([^`\n]+)`")
VARIABLES = "\n".join(
    path.read_text(encoding="utf-8")
    for folder in ("playbooks", "roles", "inventory")
    for path in sorted((ROOT / folder).rglob("*.yml"))
)


def lines_of(page):
    """Return the commands of a page: indented lines, the steps of jobs, the examples of help."""
    text = re.sub(r"\\\n\s*", "", page.read_text(encoding="utf-8"))
    fenced = re.findall(r"^```(?:text|yaml)\n(.*?)^```", text, re.M | re.S)
    plain = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    found = [line for block in fenced for line in re.findall(r"^ +(?:- )?(\S.*)$", block, re.M)]
    return [*found, *re.findall(r"^ {4}(\S.*)$", plain, re.M)]


def words_of(text):
    return shlex.split(text.replace("…", "x"), comments=True)


def commands(pages=PAGES):
    """Yield each command of a program that a page shows in full, with the page."""
    for page in pages:
        for line in lines_of(page):
            for program, rest in COMMAND.findall(re.sub(r"\s#.*", "", line)):
                if rest.split()[0] in SUBPARSERS[program]:
                    yield page, program, words_of(rest)


def playbooks():
    """Yield the words after ansible-playbook in each line and each inline text of a page."""
    for page in PAGES:
        inline = INLINE.findall(page.read_text(encoding="utf-8"))
        for line in (*lines_of(page), *inline):
            for rest in PLAYBOOK.findall(re.sub(r"\s#.*", "", line)):
                yield page, words_of(rest)


def settings_of(words):
    """Return the variables that `-e` sets among the words of a command line."""
    given = [after for word, after in pairwise(words) if word == "-e"]
    found = {}
    for one in given:
        if one.startswith("{"):
            found |= json.loads(one)
        elif not one.startswith("@"):
            name, _, value = one.partition("=")
            found[name] = value
    return found


def test_a_program_accepts_every_command_that_a_page_shows():
    refused = []
    shown = list(commands())
    for page, program, words in shown:
        with redirect_stderr(io.StringIO()) as said:
            try:
                PARSERS[program].parse_args(words)
            except SystemExit:
                refused.append((page.name, program, words, said.getvalue()[-200:]))
    assert len(shown) > 100
    assert refused == []


def test_every_command_that_a_text_names_has_these_options():
    unknown, seen = [], 0
    for page in PAGES:
        for text in INLINE.findall(page.read_text(encoding="utf-8")):
            for program, rest in COMMAND.findall(text):
                name, *words = rest.split()
                command = SUBPARSERS[program].get(name)
                known = command._option_string_actions if command else {}
                options = {word.partition("=")[0] for word in words if word.startswith("--")}
                if command is None or options - known.keys():
                    unknown.append((page.name, text))
                seen += 1
    assert seen > 100
    assert unknown == []


def test_every_playbook_of_a_page_is_there_and_reads_its_variables():
    shown = list(playbooks())
    assert len(shown) > 30
    for page, words in shown:
        for word in words:
            if word.startswith("playbooks/") and word.endswith(".yml"):
                assert (ROOT / word).is_file(), (page.name, words)
        for name in settings_of(words):
            assert re.search(rf"\b{name}\b", VARIABLES), (page.name, name)


def asked():
    """Yield the studies and the profile of each command that plans or sweeps, with its page."""
    for page, words in playbooks():
        settings = settings_of(words)
        if "study" in settings and "profile" in settings:
            yield page, settings["study"].split(","), settings["profile"]
    usual = {"run": "demo", "night": "overnight"}
    for page, program, words in commands():
        if words[0] in ("run", "night", "plan"):
            options = PARSERS[program].parse_args(words)
            yield page, options.studies, options.profile or usual[words[0]]


def test_every_study_that_a_page_sweeps_has_this_profile():
    seen = 0
    for page, studies, profile in asked():
        text = page.read_text(encoding="utf-8")
        for study in studies:
            file = ROOT / f"playbooks/studies/{study}.yml"
            if study.endswith(".yml") or f"# playbooks/studies/{study}.yml\n" in text:
                continue  # a file of the reader's own
            profiles = yaml.safe_load(file.read_text(encoding="utf-8"))["profiles"]
            assert profile in profiles or f"\n    {profile}:\n" in text, (page.name, study, profile)
            seen += 1
    assert seen > 30


@pytest.mark.parametrize(
    "line",
    ["collect check", "rackbench run sort --fitt", "collect power a b", "rackbench lab sideways"],
)
def test_a_command_that_no_program_accepts_is_found(line, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"See:\n\n    {line}   # a comment\n")
    ((_, program, words),) = commands([page])
    with pytest.raises(SystemExit), redirect_stderr(io.StringIO()):
        PARSERS[program].parse_args(words)
