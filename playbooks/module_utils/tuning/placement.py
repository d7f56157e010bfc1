"""The processors and the memory of rackbench's services."""

from functools import partial
from pathlib import Path
from typing import Any

from ansible.module_utils import host

from .cpu_lists import NUMA
from .steps import Back, Left, Step, Steps

UNITS = "etc/systemd/system"
DROP_IN = "placement.conf"
ALL = "rackbench-.service"
# A file of the same name for the unit itself replaces the file for all units.
UNPLACED = [f"rackbench-{name}.service" for name in ("capture", "health", "profile", "restart")]
NO_PLACEMENT = "# Stays away from the processors of the services.\n"
RUNNER = "rackbench-runner.service"
RUNNING = ("systemctl", "list-units", "--no-legend", "--plain", "--state=active,activating")


def drop_in(root: Path, unit: str) -> Path:
    """Return the drop-in that sets the processors of a unit."""
    return root / UNITS / f"{unit}.d" / DROP_IN


def steps(root: Path, params: dict[str, Any]) -> Steps:
    """Yield the placement of the services if it changes; it restarts only the services."""
    cpus, numa = params["jvm_cpus"], params["jvm_numa"]
    if cpus is None and numa is None:
        return
    if numa and not (root / NUMA).exists():
        yield Left("placement", "this kernel knows no NUMA nodes")
        numa = ""
    lines = [f"CPUAffinity={cpus}"] if cpus else ["CPUAffinity=numa"] if numa else []
    lines += ["NUMAPolicy=bind", f"NUMAMask={numa}"] if numa else []
    texts = {ALL: "\n".join(["[Service]", *lines, ""]), **dict.fromkeys(UNPLACED, NO_PLACEMENT)}
    files = {drop_in(root, unit): text if lines else "" for unit, text in texts.items()}
    if all(host.text_of(path) == text for path, text in files.items()):
        return
    if host.run(*RUNNING, RUNNER):
        yield Left("placement", "a sweep runs on this node; run site.yml again at its end")
        return
    yield Step("placement", "placement", {}, partial(place, files))


def place(files: dict[Path, str]) -> None:
    """Write the drop-ins, remove those without a text, and restart the services that run."""
    for path, text in files.items():
        host.write(path, text) if text else path.unlink(missing_ok=True)
    host.run("systemctl", "daemon-reload")
    shown = host.run(*RUNNING, "rackbench-*.service")
    running = [line.split()[0] for line in shown.splitlines()]
    if placed := [unit for unit in running if unit not in UNPLACED]:
        host.run("systemctl", "restart", *placed)


def restore(root: Path, _: object) -> None:
    """Remove the drop-ins; the services are removed with rackbench."""
    for unit in (ALL, *UNPLACED):
        drop_in(root, unit).unlink(missing_ok=True)


BACK: Back = {"placement": restore}
