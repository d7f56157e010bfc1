"""`rackbench site`: provision the machines."""

import argparse

from collect.commands.arguments import Commands, command
from collect.commands.exits import GOOD
from collect.front.ask import demand_root, filled, is_agreed
from collect.front.inventory import read_inventory
from collect.front.kit import add_kit, kit_of
from collect.front.play import Play, play

_CHANGES = """\
On each of them it
  - installs Debian packages (a JDK, curl, nftables and others) and holds the installed versions
  - adds accounts (rackbench, and those of its services), files below /opt/rackbench, \
/etc/rackbench and /var/lib/rackbench, and services named rackbench-...
  - closes every port but SSH and those of the bench, and lets SSH take keys only
  - synchronises the clock, writes the other machines' names into /etc/hosts, and sets governor, \
turbo, swap, huge pages and kernel settings for steady times
It changes only settings that differ. `rackbench reset MACHINE` restores a machine, but keeps its \
packages. `--check` changes nothing; its log shows each change."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "site",
        run,
        "provision the machines",
        """\
Provision the machines of the inventory: build the programs, then install and start them.
The command lists its changes and asks first. A second run changes nothing. The
command skips a machine that fails, and names it with the reason.

examples:
  rackbench site
  rackbench site --check               # change nothing; the log shows each change
  rackbench site --limit worker3 --yes""",
    )
    add_kit(parser)
    parser.add_argument("--limit", metavar="MACHINES", help="only these, separated by commas")
    parser.add_argument(
        "--check", action="store_true", help="neither build nor change; the log shows each change"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    kit = kit_of(options)
    inventory = read_inventory(kit)
    inventory.demand_bench()
    if options.limit:
        inventory.demand_names(options.limit)
    only = ("--limit", options.limit) if options.limit else ()
    if options.check:  # building would install packages on this machine
        shown = Play("site.yml", options=(*only, "--check", "--diff"), guess_s=180)
        return play(kit, [[shown]], options.again)
    if not (kit.checkout / "java-apps/dist/SHA256SUMS").is_file():
        demand_root("building the programs")
    part = f"; only {options.limit} will change" if options.limit else ""
    print(filled(f"{inventory.name} has {inventory.machines()}{part}.\n{_CHANGES}"), flush=True)
    if not is_agreed("Provision them?", is_yes=options.yes):
        return GOOD
    stages = [
        [Play("build.yml", guess_s=150)],
        [Play("site.yml", options=only, guess_s=180, counts=True)],
    ]
    return play(kit, stages, options.again)
