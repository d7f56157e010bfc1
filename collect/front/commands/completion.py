"""`rackbench completion`: tab completion of commands, options, runs and studies."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from collect.commands.arguments import Commands, command
from collect.commands.exits import GOOD
from collect.exchange.archive.sources import SAMPLES
from collect.run.study import KIT_STUDIES

_BASH = """
_rackbench_root() {{
  local place=$PWD
  while [ -n "$place" ] && [ ! -e "$place/rackbench.yml" ]; do place=${{place%/*}}; done
  echo "${{place:-.}}"
}}
_rackbench_runs() {{
  local plan runs=
  for plan in "$(_rackbench_root)"/results/*/plan.jsonl; do
    [ -e "$plan" ] && plan=${{plan%/plan.jsonl}} && runs="$runs ${{plan##*/}}"
  done
  compgen -W "$runs {samples}" -- "$1"
  compgen -f -X '!*.zip' -- "$1"
}}
_rackbench_studies() {{
  local file studies=
  for file in "$(_rackbench_root)"/studies/*.yml; do
    [ -e "$file" ] && file=${{file##*/}} && studies="$studies ${{file%.yml}}"
  done
  compgen -W "$studies {studies}" -- "$1"
}}
"""
_ZSH = """
_rackbench_root() {{
  local place=$PWD
  while [[ -n $place && ! -e $place/rackbench.yml ]]; do place=${{place%/*}}; done
  print -r -- ${{place:-.}}
}}
_rackbench_runs() {{
  local root=$(_rackbench_root)
  local -a runs=($root/results/*/plan.jsonl(N:h:t) {samples})
  compadd "$@" -a runs
  _files "$@" -g '*.zip'
}}
_rackbench_studies() {{
  local root=$(_rackbench_root)
  local -a studies=($root/studies/*.yml(N:t:r) {studies})
  compadd "$@" -a studies
}}
"""
_KINDS = {"RUN": "_rackbench_runs", "ARCHIVE": "_rackbench_runs", "STUDY": "_rackbench_studies"}

_OF_EVAL = "[[ $zsh_eval_context[-1] == eval ]]"
_OF_ANY_SOURCE = "[[ $funcstack[1] != _rackbench ]]"
_ONE_OF_MANY = re.compile(r'^(\s*")\(\*\)::?', re.MULTILINE)


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "completion",
        run,
        "print tab completion for a shell",
        """\
Print a script for a shell that completes commands, options, and the names of runs and
studies with the tab key. In zsh, run compinit first.

examples:
  source <(rackbench completion bash)
  source <(rackbench completion zsh)
  rackbench completion bash > ~/.rackbench.bash    # and source it in ~/.bashrc""",
    )
    parser.add_argument("shell", choices=("bash", "zsh"), help="the shell")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    import shtab  # noqa: PLC0415 - no other command needs it

    names = {
        "samples": " ".join(sorted(path.stem for path in SAMPLES.glob("*.zip"))),
        "studies": " ".join(_studies()),
    }
    preamble = {"bash": _BASH, "zsh": _ZSH}[options.shell].format(**names)
    whole: argparse.ArgumentParser = options.whole
    if options.shell == "zsh":
        for action in _actions(whole):
            _name_for_zsh(action)
    script = shtab.complete(whole, options.shell, preamble=preamble)
    print(_for_zsh(script) if options.shell == "zsh" else script)
    return GOOD


def mark(parser: argparse.ArgumentParser) -> None:
    """Mark the arguments of a command by what completes them, as shtab reads it."""
    for action in parser._actions:  # argparse lists them nowhere else
        metavar = str(action.metavar or "")
        if metavar in _KINDS:
            vars(action)["complete"] = dict.fromkeys(("bash", "zsh"), _KINDS[metavar])
        elif action.type is Path or "FILE" in metavar or "PATH" in metavar:
            vars(action)["complete"] = {"bash": "_shtab_compgen_files", "zsh": "_files"}


def _studies() -> list[str]:
    """Return the names of rackbench's studies; a project's own are looked up at each tab."""
    paths = (path.relative_to(KIT_STUDIES) for path in KIT_STUDIES.rglob("*.yml"))
    return sorted(str(path.with_suffix("")) for path in paths if path.parts[0] != "archived")


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a program and of its commands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from _actions(one)


def _name_for_zsh(action: argparse.Action) -> None:
    """Write the value's name as `_arguments` reads it, where shtab takes it as it stands.

    A colon ends the name. An option that takes several values takes words up to the next option.
    """
    name = str(action.metavar or action.dest).replace(":", r"\:")
    if action.option_strings and action.nargs in {"+", "*"}:
        name = f"*-*:{name}"
    if action.option_strings and action.nargs != 0:
        action.metavar = name


def _for_zsh(script: str) -> str:
    """Return shtab's script for zsh, mended.

    shtab completes only the first of several positional arguments. It registers the completion
    after `eval`, but not when the script is sourced.
    """
    return _ONE_OF_MANY.sub(r"\1*:", script).replace(_OF_EVAL, _OF_ANY_SOURCE)
