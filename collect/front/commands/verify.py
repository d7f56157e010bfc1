"""`rackbench verify`: whether the machines are the same and healthy."""

import argparse

from collect.commands.arguments import Commands, command
from collect.front.inventory import read_inventory
from collect.front.kit import add_kit, kit_of
from collect.front.play import Play, play


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "verify",
        run,
        "compare the machines",
        """\
Compare the machines of the inventory: packages, kernel, JDK, files, settings, health. The
command changes nothing, so it does not ask. If machines differ, it prints their differences
as a table and ends with exit code 1.

examples:
  rackbench verify
  rackbench verify --verbose""",
    )
    add_kit(parser)
    parser.add_argument("--yes", action="store_true", help="no effect; verify never asks")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    kit = kit_of(options)
    inventory = read_inventory(kit)
    inventory.demand_bench()
    print(f"{inventory.name} has {inventory.machines()}; nothing on them changes", flush=True)
    return play(kit, [[Play("verify.yml", guess_s=30)]], options.again)
