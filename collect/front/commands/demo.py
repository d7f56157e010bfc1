"""`rackbench demo`: the whole way, from nothing to a report."""

import argparse

from collect.commands.arguments import Commands, command
from collect.front.ask import demand_root
from collect.front.commands.lab import demand_virtual
from collect.front.inventory import read_inventory
from collect.front.kit import add_kit, kit_of
from collect.front.play import Play, play
from collect.front.sweeping import Sweeping

_STUDIES = ("sort", "overhead", "attachments", "mtom", "binding", "harness")


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "demo",
        run,
        "make a lab, sweep six studies, write a report",
        """\
Make the virtual lab, provision it, run the profile `demo` of six studies and write one
report; the last line is its path. It needs root. It installs Debian packages (Maven, a JDK,
mmdebstrap, nftables, systemd-container) here, keeps an image below /var/cache/rackbench, and
boots the lab's machines behind a bridge. `rackbench lab down`
removes machines and bridge; packages, image and results stay. After Ctrl-C or a failure, run
the same command again to continue.

examples:
  rackbench demo
  rackbench demo -e virtual_lab_prefix=10.99.0""",
    )
    add_kit(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    kit = kit_of(options)
    demand_root("the virtual lab")
    demand_virtual(read_inventory(kit))
    results = kit.root / "results"
    sweeping = Sweeping([results / f"demo-{study}" for study in _STUDIES])
    stages = [
        [Play("lab.yml", guess_s=90), Play("build.yml", guess_s=170)],
        [Play("site.yml", guess_s=180)],
        [Play("demo.yml", guess_s=400, progress=sweeping)],
    ]
    code = play(kit, stages, options.again)
    if not code:
        print(f"\nReport: {results / 'demo/report.html'}")
    return code
