"""`rackbench lab`: the virtual lab on this machine."""

import argparse

from collect.commands.arguments import Commands, command
from collect.errors import InputError
from collect.front.ask import demand_root
from collect.front.inventory import Inventory, read_inventory
from collect.front.kit import add_kit, kit_of
from collect.front.play import Play, play

_PLAYBOOKS = {"up": "lab.yml", "down": "lab_down.yml"}


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "lab",
        run,
        "make or remove the virtual lab",
        """\
Make or remove the virtual lab: Debian machines with systemd, SSH and shaped links, in
containers on this machine. The command needs root, and `up` the memory that lab.yml gives
the machines. `down` removes the machines and their network, and keeps the results.

examples:
  rackbench lab up
  rackbench lab down""",
    )
    add_kit(parser)
    parser.add_argument(
        "state", choices=tuple(_PLAYBOOKS), help="up makes and boots the lab, down removes it"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    kit = kit_of(options)
    demand_virtual(read_inventory(kit))
    demand_root("the virtual lab")
    stage = [Play(_PLAYBOOKS[options.state], guess_s=60 if options.state == "up" else 15)]
    return play(kit, [stage], options.again)


def demand_virtual(inventory: Inventory) -> None:
    """Raise InputError unless the inventory is that of a virtual lab."""
    if not inventory.is_virtual:
        raise InputError(
            f"{inventory.name}: lists real machines, not a virtual lab; make a virtual lab with "
            "`rackbench init ~/trial --virtual`, or provision these machines with `rackbench site`"
        )
