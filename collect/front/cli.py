"""The program `rackbench`."""

import argparse
import shlex
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from collect.commands.arguments import Commands, HelpText
from collect.commands.exits import EXIT_CODES
from collect.commands.guard import guarded
from collect.front import analysis
from collect.front.commands import (
    completion,
    demo,
    doctor,
    init,
    lab,
    night,
    reset,
    run,
    site,
    trust,
    verify,
)

_EPILOG = f"""\
from nothing, with root on this machine:
  rackbench demo
without a lab:
  rackbench report sample-sort
your own machines:
  rackbench init ~/mylab; cd ~/mylab; rackbench doctor

`rackbench COMMAND --help` has examples. Arguments after -- go to ansible-playbook.

{EXIT_CODES}"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    end = words.index("--") if "--" in words else len(words)
    parser = make_parser()
    options = parser.parse_args(words[:end])
    options.more, options.whole = words[end + 1 :], parser
    options.program = program()
    options.words, options.again = words, shlex.join([options.program, *words])
    if options.more and not hasattr(options, "takes_more"):
        parser.error("only commands that run playbooks take arguments after --")
    if arguments is None:
        _end_as_by_ctrl_c()
    return guarded("rackbench", options)


def _end_as_by_ctrl_c() -> None:
    """Treat SIGTERM and SIGHUP as Ctrl-C, which also stops child processes; respect nohup."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def program() -> str:
    """Return how a person starts this program again: by its name where the shell finds it."""
    started = Path(sys.argv[0])
    if started.name != "rackbench" or shutil.which("rackbench") == str(started):
        return "rackbench"
    return str(started)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands, in the order of a first visit."""
    parser = argparse.ArgumentParser(
        prog="rackbench",
        description="Provision machines, sweep studies on them, and analyse the results.",
        epilog=_EPILOG,
        formatter_class=HelpText,
    )
    commands: Commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (init, doctor, trust, lab, site, verify, reset, run, night):
        module.add(commands)
    for module in (*analysis.FOLLOWING, *analysis.KEEPING):
        analysis.add(commands, module)
    demo.add(commands)
    for module in analysis.FURTHER:
        analysis.add(commands, module)
    completion.add(commands)
    for one in commands.choices.values():
        completion.mark(one)
    return parser
