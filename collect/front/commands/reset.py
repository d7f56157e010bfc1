"""`rackbench reset`: put machines back as they were found."""

import argparse

from collect.commands.arguments import Commands, command
from collect.commands.exits import GOOD
from collect.errors import InputError
from collect.front.ask import filled, is_agreed
from collect.front.inventory import read_inventory
from collect.front.kit import add_kit, kit_of
from collect.front.play import Play, play

_CHANGES = """\
this stops and removes rackbench's services, accounts, packet filter and files, and restores the \
settings that rackbench tuned. Packages stay, and so do the results on this machine."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "reset",
        run,
        "remove rackbench from machines",
        """\
Remove rackbench from a machine and restore its earlier settings; packages stay. The command
lists its changes and asks first. It refuses a machine that is sweeping, or that has trials
which were not pulled.

examples:
  rackbench reset worker5
  rackbench reset nodes                # every machine of the inventory""",
    )
    add_kit(parser)
    parser.add_argument("machine", metavar="MACHINE", help="a machine, or `nodes` for all of them")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    kit = kit_of(options)
    inventory = read_inventory(kit)
    names = [node.name for node in inventory.nodes]
    if options.machine not in {"nodes", *names}:
        raise InputError(
            f"{inventory.name}: has no machine {options.machine!r}; name one of "
            f"{', '.join(names)}, or nodes for all of them"
        )
    inventory.demand_addresses()
    chosen = names if options.machine == "nodes" else [options.machine]
    print(filled(f"On {', '.join(chosen)}, {_CHANGES}"), flush=True)
    if not is_agreed("Reset?", is_yes=options.yes):
        return GOOD
    reset = Play("reset.yml", {"node": options.machine}, guess_s=20, counts=True)
    return play(kit, [[reset]], options.again)
