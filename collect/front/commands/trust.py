"""`rackbench trust`: SSH host keys into known_hosts, after showing their fingerprints."""

import argparse

from collect.commands.arguments import Commands, command
from collect.commands.exits import GOOD
from collect.front.inventory import read_inventory
from collect.front.kit import add_kit, kit_of
from collect.front.play import Play, ask


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "trust",
        run,
        "add the machines' SSH host keys to known_hosts",
        """\
Show the fingerprint of each SSH host key that known_hosts lacks, and ask you to compare it
with the one at the machine's console. There, run
ssh-keygen -l -f /etc/ssh/ssh_host_ed25519_key.pub. Then the command writes the keys into
known_hosts. It never replaces a key that changed.

examples:
  rackbench trust
  rackbench trust -e node=worker3      # this one only""",
    )
    add_kit(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    kit = kit_of(options)
    inventory = read_inventory(kit)
    inventory.demand_bench()
    if inventory.is_virtual:
        print("nothing to do: the virtual lab's host keys are in known_hosts before it boots")
        return GOOD
    code = ask(kit, Play("trust.yml"), options.again)
    if not code:
        print("known_hosts has the host keys of these machines")
    return code
