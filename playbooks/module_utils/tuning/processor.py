"""The speed and sleep states of processors: governor, turbo, idle states."""

from pathlib import Path
from typing import Any

from ansible.module_utils import host

from .steps import SHARED, Files, Left, Sought, chosen, in_container, read_record

CPU = "sys/devices/system/cpu"


def files(root: Path, params: dict[str, Any]) -> Sought:
    """Return the requested settings."""
    asked = (
        ("governor", governor, params["governor"] or None),
        ("turbo", turbo, params["turbo"]),
        ("idle states", idle_states, params["max_cstate_us"]),
    )
    shared = in_container(root)
    return {
        name: Left(name, SHARED) if shared else find(root, wanted)
        for name, find, wanted in asked
        if wanted is not None
    }


def governor(root: Path, wanted: str) -> Files | Left:
    """Return the governor of every core that is on; the kernel refuses to read that of another."""
    found = sorted((root / CPU).glob("cpu[0-9]*/cpufreq/scaling_governor"))
    paths = [path for path in found if host.read(str(path.parents[1] / "online")) != "0"]
    if not paths:
        return Left("governor", "this machine offers no frequency governor")
    offered = (paths[0].parent / "scaling_available_governors").read_text().split()
    if wanted not in offered:
        return Left("governor", f"this machine offers {', '.join(offered)} and not {wanted}")
    return dict.fromkeys(paths, wanted)


def refused_governors(root: Path, wanted: list[str]) -> list[str]:
    """Return why this machine lacks some of these governors; nothing if it offers all."""
    if wanted and in_container(root):
        return [SHARED]
    found = [governor(root, one) for one in wanted]
    return list(dict.fromkeys(one.reason for one in found if isinstance(one, Left)))


def turbo(root: Path, wanted: bool) -> Files | Left:
    """Return the one switch of turbo, which drivers name differently."""
    without, with_boost = root / CPU / "intel_pstate/no_turbo", root / CPU / "cpufreq/boost"
    if without.exists():
        return {without: str(int(not wanted))}
    if with_boost.exists():
        return {with_boost: str(int(wanted))}
    return Left("turbo", "this machine offers no switch for it")


def idle_states(root: Path, most_us: int) -> Files | Left:
    """Return the switch of each idle state; states that are quick enough stay as found."""
    found = read_record(root).get("files", {})
    switches = {}
    for path in sorted((root / CPU).glob("cpu[0-9]*/cpuidle/state[0-9]*/disable")):
        is_slow = int((path.parent / "latency").read_text()) > most_us
        switches[path] = "1" if is_slow else found.get(str(path), chosen(path))
    return switches or Left("idle states", "this machine offers no choice of them")
