"""`rackbench completion`: tab completion of commands, options, runs and studies."""

import argparse
from pathlib import Path

from collect.commands.arguments import Commands, command
from collect.commands.exits import GOOD
from collect.exchange.archive.sources import SAMPLES
from collect.run.study import study_folders

_BASH = """
_rackbench_runs() {{
  local plan runs=
  for plan in results/*/plan.jsonl; do
    [ -e "$plan" ] && runs="$runs $(basename "$(dirname "$plan")")"
  done
  compgen -W "$runs {samples}" -- "$1"
  compgen -f -X '!*.zip' -- "$1"
}}
_rackbench_studies() {{
  local file studies=
  for file in studies/*.yml; do
    [ -e "$file" ] && studies="$studies $(basename "$file" .yml)"
  done
  compgen -W "$studies {studies}" -- "$1"
}}
"""
_ZSH = """
_rackbench_runs() {{
  local -a runs=(results/*/plan.jsonl(N:h:t) {samples})
  compadd -a runs; _files -g '*.zip'
}}
_rackbench_studies() {{
  local -a studies=(studies/*.yml(N:t:r) {studies})
  compadd -a studies
}}
"""
_KINDS = {"RUN": "_rackbench_runs", "ARCHIVE": "_rackbench_runs", "STUDY": "_rackbench_studies"}


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "completion",
        run,
        "print tab completion for a shell",
        """\
Print a script for a shell that completes commands, options, and the names of runs and
studies with the tab key.

examples:
  source <(rackbench completion bash)
  rackbench completion bash > ~/.local/share/bash-completion/completions/rackbench
  rackbench completion zsh > ~/.zfunc/_rackbench""",
    )
    parser.add_argument("shell", choices=("bash", "zsh"), help="the shell")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    import shtab  # noqa: PLC0415 - no other command needs it

    names = {
        "samples": " ".join(sorted(path.stem for path in SAMPLES.glob("*.zip"))),
        "studies": " ".join(sorted({p.stem for f in study_folders() for p in f.glob("*.yml")})),
    }
    preamble = {"bash": _BASH, "zsh": _ZSH}[options.shell].format(**names)
    whole: argparse.ArgumentParser = options.whole
    print(shtab.complete(whole, options.shell, preamble=preamble))
    return GOOD


def mark(parser: argparse.ArgumentParser) -> None:
    """Mark the arguments of a command by what completes them, as shtab reads it."""
    for action in parser._actions:  # argparse lists them nowhere else
        metavar = str(action.metavar or "")
        if metavar in _KINDS:
            vars(action)["complete"] = dict.fromkeys(("bash", "zsh"), _KINDS[metavar])
        elif action.type is Path or "FILE" in metavar or "PATH" in metavar:
            vars(action)["complete"] = {"bash": "_shtab_compgen_files", "zsh": "_files"}
