#!/usr/bin/python
"""Sets what makes a node steady, remembers how it was found, and puts that back."""

from __future__ import annotations

DOCUMENTATION = r"""
module: tuning
short_description: Sets what makes a node steady, and puts it back as it was found
description:
  - Frequency governor, turbo, idle states, swap, huge pages, interrupts, the ports of clients, the
    processors and memory of the kit's services, units that would work beside a trial, versions of
    packages, and the node's name. A setting that is not given is left as it is.
  - What was found is recorded on the node before it is first changed; C(state=reset) puts it back.
  - What cannot be set is left and told with its reason. A container shares its host's kernel, so
    nothing of the kernel is set there but the ports, which belong to its own network.
options:
  state:
    description: Whether to set, to put back, or only to refuse what this machine does not have.
    choices: [tuned, reset, checked]
    type: str
    default: tuned
  governor: {description: Frequency governor of every core; empty leaves it, type: str, default: ""}
  turbo: {description: Whether cores may exceed their nominal rate, type: bool}
  swap: {description: C(false) turns swap off now and at boot, type: bool}
  huge_pages: {description: Transparent huge pages; empty leaves them, type: str, default: ""}
  units_off:
    description: Units that are stopped and disabled where they are installed.
    type: list
    elements: str
    default: []
  hold:
    description: Patterns of the names of installed packages whose version is held.
    type: list
    elements: str
    default: []
  max_cstate_us:
    description: Idle states that take longer to leave, in microseconds, are switched off.
    type: int
  irq_cpus: {description: Processors that take interrupts, as C(0-3,8), type: str, default: ""}
  port_range:
    description: First and last port of connections that the node opens; empty leaves them.
    type: list
    elements: int
    default: []
  tcp_tw_reuse:
    description: Whether a new connection may use a port in TIME_WAIT, as the kernel numbers it.
    type: int
  service_cpus:
    description: Processors of the kit's services; empty takes the limit away. Services that run
      are restarted when it changes.
    type: str
  service_numa: {description: The same of the nodes of memory, type: str}
  hostname: {description: What the node is called; empty leaves it, type: str, default: ""}
  root: {description: Where the node's files begin, type: path, default: /}
"""

EXAMPLES = r"""
- name: Make the node steady
  tuning:
    governor: performance
    turbo: false
    swap: false
    units_off: [apt-daily.timer]
    hold: ["*"]

- name: Put the node back as it was found
  tuning:
    state: reset
"""

RETURN = r"""
settings:
  description: What was set or put back.
  type: list
  returned: always
left:
  description: What was asked for and left as it is, with the reason.
  type: dict
  returned: always
"""

import json
import os
import re
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

RECORD = "etc/rackbench/found.json"
AT_BOOT = "etc/tmpfiles.d/rackbench-tuning.conf"
CPU = "sys/devices/system/cpu"
HUGE_PAGES = "sys/kernel/mm/transparent_hugepage/enabled"
IPV4 = "proc/sys/net/ipv4"
SHARED = "this node is a container and shares its host's kernel"
NOT_ITS_OWN = (
    "this node is a container that may not write its network's settings: set them on its host,"
    " or recreate a virtual lab"
)
INTERRUPTS = "proc/irq"
INTERRUPTS_AT_BOOT = "etc/tmpfiles.d/rackbench-interrupts.conf"
NUMA = "sys/devices/system/node"
UNITS = "etc/systemd/system"
PLACEMENT = f"{UNITS}/rackbench-.service.d/placement.conf"
# A file of the same name, nearer to the unit, takes the place of the one above.
UNPLACED = (
    "rackbench-health.service",
    "rackbench-restart.service",
    "rackbench-profile.service",
)
NO_PLACEMENT = "# Stays away from the processors of the services.\n"
RUNNER = "rackbench-runner.service"
HOST_NAME = "etc/hostname"
SWAP = "swap.target"
MASKED = "LoadState=masked\n"


@dataclass(frozen=True)
class Step:
    """One change: how the node was found goes into the record before `do` is called."""

    name: str
    kind: str
    found: Mapping[str, Any]
    do: Callable[[], object]


@dataclass(frozen=True)
class Left:
    """A setting that is left as it is."""

    name: str
    reason: str


def command(*argv: str, given: str | None = None) -> str:
    """Return what a command prints; raises OSError with what it said when it fails."""
    done = subprocess.run(argv, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(argv)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def in_container(root: Path) -> bool:
    """Return whether the kernel is somebody else's."""
    return (root / "run/systemd/container").exists()


def chosen(path: Path) -> str:
    """Return a kernel setting's value: the bracketed word of a choice, or all its words."""
    text = " ".join(path.read_text().split())
    bracketed = re.search(r"\[(.+?)\]", text)
    return bracketed[1] if bracketed else text


def governor(root: Path, wanted: str) -> dict[Path, str] | Left:
    """Return the governor of every core."""
    paths = sorted((root / CPU).glob("cpu[0-9]*/cpufreq/scaling_governor"))
    if not paths:
        return Left("governor", "this machine offers no frequency governor")
    offered = (paths[0].parent / "scaling_available_governors").read_text().split()
    if wanted not in offered:
        return Left("governor", f"this machine offers {', '.join(offered)} and not {wanted}")
    return dict.fromkeys(paths, wanted)


def turbo(root: Path, wanted: bool) -> dict[Path, str] | Left:
    """Return the one switch of turbo, which drivers name differently."""
    without, with_boost = root / CPU / "intel_pstate/no_turbo", root / CPU / "cpufreq/boost"
    if without.exists():
        return {without: str(int(not wanted))}
    if with_boost.exists():
        return {with_boost: str(int(wanted))}
    return Left("turbo", "this machine offers no switch for it")


def huge_pages(root: Path, wanted: str) -> dict[Path, str] | Left:
    """Transparent huge pages."""
    path = root / HUGE_PAGES
    if not path.exists():
        return Left("huge_pages", "this kernel has none")
    return {path: wanted}


def idle_states(root: Path, most_us: int) -> dict[Path, str] | Left:
    """Return the switch of each idle state; those quick enough are as they were found."""
    found = read_record(root).get("files", {})
    files = {}
    for path in sorted((root / CPU).glob("cpu[0-9]*/cpuidle/state[0-9]*/disable")):
        is_slow = int((path.parent / "latency").read_text()) > most_us
        files[path] = "1" if is_slow else found.get(str(path), chosen(path))
    return files or Left("idle states", "this machine offers no choice of them")


def of_network(root: Path, name: str, wanted: str) -> dict[Path, str] | Left:
    """Return one setting of the node's network, which a container may have of its own."""
    path = root / IPV4 / name
    if not path.exists():
        return Left(name, "this kernel has no such setting")
    if in_container(root) and not os.access(path, os.W_OK):
        return Left(name, NOT_ITS_OWN)
    return {path: wanted}


def numbers(text: str) -> set[int]:
    """Return the numbers of a list as the kernel writes it, `0-3,8`.

    Raises ValueError for others.
    """
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
        raise ValueError(f"{text!r} is no list such as 0-3,8")
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if int(last or first) < int(first):
            raise ValueError(f"{text!r} counts downwards")
        found.update(range(int(first), int(last or first) + 1))
    return found


def listed(found: set[int]) -> str:
    """Return the shortest list of these numbers, as the kernel writes it."""
    parts: list[list[int]] = []
    for number in sorted(found):
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


def there(root: Path, name: str, asked: str | None, online: str, what: str) -> Iterator[str]:
    """Yield why a list of processors or memory nodes cannot be on this machine."""
    try:
        wanted = numbers(asked) if asked else set()
    except ValueError as error:
        yield f"{name}: {error}"
        return
    path = root / online
    present = numbers(path.read_text().strip()) if path.exists() else set()
    if present and wanted - present:
        missing = listed(wanted - present)
        yield f"{name}: this machine has {what} {listed(present)} and not {missing}"


def refusals(root: Path, params: Mapping[str, Any]) -> list[str]:
    """Return what is asked of this machine and cannot be, whatever is done to it."""
    cpus = f"{CPU}/online"
    found = [
        *there(root, "irq_cpus", params["irq_cpus"], cpus, "the processors"),
        *there(root, "jvm_cpus", params["service_cpus"], cpus, "the processors"),
        *there(root, "jvm_numa", params["service_numa"], f"{NUMA}/online", "the NUMA nodes"),
    ]
    if params["max_cstate_us"] is not None and params["max_cstate_us"] < 0:
        found.append("max_cstate_us: a time is not negative")
    return found


def mask(cpus: set[int]) -> str:
    """Processors as the kernel's mask: groups of eight hexadecimal digits."""
    bits = sum(1 << cpu for cpu in cpus)
    groups: list[str] = []
    while bits or not groups:
        groups.append(f"{bits & 0xFFFFFFFF:08x}")
        bits >>= 32
    return ",".join(reversed(groups))


def same_mask(one: str, other: str) -> bool:
    """Return whether two masks name the same processors.

    The kernel writes as many digits as it likes.
    """
    return int(one.replace(",", ""), 16) == int(other.replace(",", ""), 16)


def can_move(path: Path) -> bool:
    """Return whether this interrupt can be moved: the kernel accepts its own value again."""
    if not path.stat().st_mode & 0o222:
        return False
    try:
        path.write_text(path.read_text().strip())
    except OSError:
        return False
    return True


def interrupt_steps(root: Path, params: Mapping[str, Any]) -> Iterator[Step | Left]:
    """Yield every interrupt that can be moved, those that are yet to come, and both at boot."""
    if not params["irq_cpus"]:
        return
    if in_container(root) or not (root / INTERRUPTS).exists():
        yield Left("interrupts", SHARED if in_container(root) else "this kernel shows none")
        return
    cpus = numbers(params["irq_cpus"])
    wanted, coming = listed(cpus), root / INTERRUPTS / "default_smp_affinity"
    wrong = {
        path: wanted
        for path in sorted((root / INTERRUPTS).glob("[0-9]*/smp_affinity_list"))
        if path.read_text().strip() != wanted and can_move(path)
    }
    if coming.exists() and not same_mask(coming.read_text().strip(), mask(cpus)):
        wrong[coming] = mask(cpus)
    if wrong:
        found = {str(path): path.read_text().strip() for path in wrong}
        yield Step("interrupts", "interrupts", found, lambda: write_all(wrong))
    # Numbers of interrupts change from boot to boot, and some cannot be moved.
    lines = (
        f"w /{INTERRUPTS}/default_smp_affinity - - - - {mask(cpus)}\n"
        f"w- /{INTERRUPTS}/*/smp_affinity_list - - - - {wanted}\n"
    )
    boot = root / INTERRUPTS_AT_BOOT
    if not boot.exists() or boot.read_text() != lines:
        yield Step("at boot", "at_boot", {}, lambda: place(boot, lines))


def interrupts_back(found: Mapping[str, str]) -> None:
    """Put back those that are still there; a boot has given the others what it gives them."""
    write_all({path: was for path, was in found.items() if Path(path).exists()})


def placement_steps(root: Path, params: Mapping[str, Any]) -> Iterator[Step | Left]:
    """Yield the processors and the memory of the kit's services.

    They alone are restarted for it.
    """
    cpus, numa = params["service_cpus"], params["service_numa"]
    if cpus is None and numa is None:
        return
    if numa and not (root / NUMA).exists():
        yield Left("placement", "this kernel knows no NUMA nodes")
        numa = ""
    lines = [f"CPUAffinity={cpus}"] if cpus else ["CPUAffinity=numa"] if numa else []
    lines += ["NUMAPolicy=bind", f"NUMAMask={numa}"] if numa else []
    files = {root / PLACEMENT: "\n".join(["[Service]", *lines, ""])}
    files |= {root / UNITS / f"{unit}.d/placement.conf": NO_PLACEMENT for unit in UNPLACED}
    wanted = files if lines else {}
    stale = [path for path in files if path not in wanted and path.exists()]
    if not stale and all(path.exists() and path.read_text() == files[path] for path in wanted):
        return
    if command("systemctl", "list-units", "--no-legend", "--state=active,activating", RUNNER):
        yield Left("placement", "a sweep runs on this node; run site.yml again at its end")
        return
    yield Step("placement", "placement", {}, lambda: place_services(wanted, stale))


def place_services(wanted: Mapping[Path, str], stale: list[Path]) -> None:
    """Write the drop-ins, take away those of before, and restart the services that run."""
    for path in stale:
        path.unlink()
    for path, text in wanted.items():
        place(path, text)
    command("systemctl", "daemon-reload")
    shown = command(
        *("systemctl", "list-units", "--no-legend", "--plain", "--state=active,activating"),
        "rackbench-*.service",
    )
    running = [line.split()[0] for line in shown.splitlines()]
    placed = [unit for unit in running if unit not in UNPLACED]
    if placed:
        command("systemctl", "restart", *placed)


def unplace(root: Path) -> None:
    """Take the drop-ins away; the services themselves go with the kit."""
    for unit in ("rackbench-.service", *UNPLACED):
        (root / UNITS / f"{unit}.d/placement.conf").unlink(missing_ok=True)


def name_steps(root: Path, params: Mapping[str, Any]) -> Iterator[Step]:
    """Yield what the node is called."""
    wanted, path = params["hostname"], root / HOST_NAME
    was = path.read_text() if path.exists() else ""
    if wanted and was.strip() != wanted:
        found = {"file": was, "called": socket.gethostname()}
        yield Step(
            "hostname", "hostname", found, lambda: command("hostnamectl", "hostname", wanted)
        )


def name_back(root: Path, found: Mapping[str, str]) -> None:
    """Call the node as it was called, its file byte for byte."""
    command("hostnamectl", "hostname", found["called"])
    path = root / HOST_NAME
    path.write_text(found["file"]) if found["file"] else path.unlink(missing_ok=True)


def kernel_steps(root: Path, params: Mapping[str, Any]) -> Iterator[Step | Left]:
    """Settings that are files of the kernel, now and at each boot."""
    asked: dict[str, tuple[Callable[[Path, Any], dict[Path, str] | Left], Any]] = {
        "governor": (governor, params["governor"] or None),
        "turbo": (turbo, params["turbo"]),
        "huge_pages": (huge_pages, params["huge_pages"] or None),
        "idle states": (idle_states, params["max_cstate_us"]),
    }
    shared = in_container(root)
    sought = {
        name: Left(name, SHARED) if shared else find(root, wanted)
        for name, (find, wanted) in asked.items()
        if wanted is not None
    }
    of_ports = {
        "ip_local_port_range": " ".join(map(str, params["port_range"])),
        "tcp_tw_reuse": "" if params["tcp_tw_reuse"] is None else str(params["tcp_tw_reuse"]),
    }
    sought |= {name: of_network(root, name, wanted) for name, wanted in of_ports.items() if wanted}
    at_boot: dict[Path, str] = {}
    for name, files in sought.items():
        if isinstance(files, Left):
            yield files
            continue
        at_boot |= files
        wrong = {path: value for path, value in files.items() if chosen(path) != value}
        if wrong:
            found = {str(path): chosen(path) for path in wrong}
            yield Step(name, "files", found, partial(write_all, wrong))
    lines = "".join(
        f"w /{path.relative_to(root)} - - - - {value}\n" for path, value in at_boot.items()
    )
    boot = root / AT_BOOT
    if lines and (not boot.exists() or boot.read_text() != lines):
        yield Step("at boot", "at_boot", {}, lambda: place(boot, lines))


def write_all(values: Mapping[Any, str]) -> None:
    """Write each value into its file, as the kernel takes it."""
    for path, value in values.items():
        Path(path).write_text(value)


def place(path: Path, text: str) -> None:
    """Write a file whole and durably."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    with beside.open("w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    beside.rename(path)


def swap_steps(root: Path, params: Mapping[str, Any]) -> Iterator[Step | Left]:
    """No swap now, and none at boot."""
    if params["swap"] is not False:
        return
    used = [line.split()[0] for line in (root / "proc/swaps").read_text().splitlines()[1:]]
    if in_container(root):
        yield Left("swap", SHARED)
    elif used or command("systemctl", "show", "-p", "LoadState", SWAP) != MASKED:
        yield Step("swap", "swap", dict.fromkeys(used, "on"), swap_off)


def swap_off() -> None:
    """Turn swap off and let no boot turn it on."""
    command("swapoff", "--all")
    command("systemctl", "mask", SWAP)


def swap_on(_: object) -> None:
    """Turn on what the node turns on by itself."""
    command("systemctl", "unmask", SWAP)
    command("swapon", "--all")


def unit_steps(units: list[str]) -> Iterator[Step]:
    """Units that are installed and would run."""
    if not units:
        return
    shown = command("systemctl", "show", "-p", "Id,LoadState,UnitFileState,ActiveState", *units)
    for block in shown.strip().split("\n\n"):
        state = dict(line.partition("=")[::2] for line in block.splitlines())
        is_enabled = state["UnitFileState"].startswith("enabled")
        is_active = state["ActiveState"] in ("active", "activating", "reloading")
        if state["LoadState"] == "loaded" and (is_enabled or is_active):
            name = state["Id"]
            found = {name: {"enabled": is_enabled, "active": is_active}}
            yield Step(name, "units", found, partial(unit_off, name))


def unit_off(name: str) -> None:
    """Stop a unit and let no boot start it."""
    command("systemctl", "disable", "--now", "--quiet", name)


def units_back(found: Mapping[str, Mapping[str, bool]]) -> None:
    """Enable and start what was."""
    for name, was in found.items():
        if was["enabled"]:
            command("systemctl", "enable", "--quiet", name)
        if was["active"]:
            command("systemctl", "start", name)


def hold_steps(patterns: list[str]) -> Iterator[Step]:
    """Installed packages that these patterns name and that are not held yet."""
    if not patterns:
        return
    form = "${db:Status-Want} ${db:Status-Status} ${binary:Package}\n"
    rows = (line.split() for line in command("dpkg-query", "-W", "-f", form).splitlines())
    loose = [
        name
        for want, status, name in rows
        if status == "installed"
        and want == "install"
        and any(fnmatchcase(name.partition(":")[0], pattern) for pattern in patterns)
    ]
    if loose:
        found = dict.fromkeys(loose, "install")
        yield Step("hold", "packages", found, lambda: select(dict.fromkeys(loose, "hold")))


def select(selections: Mapping[str, str]) -> None:
    """Hand selections to dpkg, which remembers them."""
    lines = "".join(f"{name} {selection}\n" for name, selection in selections.items())
    command("dpkg", "--set-selections", given=lines)


def release(found: Mapping[str, str]) -> None:
    """Release what was held; what was removed since stays removed."""
    listed = command("dpkg-query", "-W", "-f", "${db:Status-Want} ${binary:Package}\n")
    held = {line.split()[1] for line in listed.splitlines() if line.startswith("hold ")}
    select({name: was for name, was in found.items() if name in held})


def plan(root: Path, params: Mapping[str, Any]) -> tuple[list[Step], dict[str, str]]:
    """Return what there is to do, and what is left with its reason."""
    found = [
        *kernel_steps(root, params),
        *interrupt_steps(root, params),
        *placement_steps(root, params),
        *name_steps(root, params),
        *swap_steps(root, params),
        *unit_steps(params["units_off"]),
        *hold_steps(params["hold"]),
    ]
    steps = [step for step in found if isinstance(step, Step)]
    return steps, {left.name: left.reason for left in found if isinstance(left, Left)}


def tune(root: Path, params: Mapping[str, Any], *, check: bool) -> tuple[list[str], dict[str, str]]:
    """Record how the node is, then change it; what was set, and what was left and why."""
    steps, left = plan(root, params)
    if check or not steps:
        return [step.name for step in steps], left
    record = read_record(root)
    for step in steps:
        # What was found first is what the node was before the kit.
        record[step.kind] = {**step.found, **record.get(step.kind, {})}
    place(root / RECORD, json.dumps(record, indent=1, sort_keys=True) + "\n")
    done = []
    for step in steps:
        try:
            step.do()
            done.append(step.name)
        except OSError as error:
            left[step.name] = str(error)
    return done, left


def read_record(root: Path) -> dict[str, dict[str, Any]]:
    """Return how the node was found; empty when nothing was changed."""
    record = root / RECORD
    return json.loads(record.read_text()) if record.exists() else {}


def reset(root: Path, *, check: bool) -> tuple[list[str], dict[str, str]]:
    """Put back what the record holds, and forget it."""
    record = read_record(root)
    ways: dict[str, Callable[[Any], None]] = {
        "files": write_all,
        "at_boot": lambda _: no_more_at_boot(root),
        "interrupts": interrupts_back,
        "placement": lambda _: unplace(root),
        "hostname": lambda found: name_back(root, found),
        "swap": swap_on,
        "units": units_back,
        "packages": release,
    }
    if check:
        return list(record), {}
    left = {}
    for kind, found in list(record.items()):
        try:
            ways[kind](found)
        except OSError as error:
            left[kind] = str(error)
    if record and not left:
        (root / RECORD).unlink()
    return [kind for kind in record if kind not in left], left


def no_more_at_boot(root: Path) -> None:
    """Let the next boot set what it sets by itself."""
    for name in (AT_BOOT, INTERRUPTS_AT_BOOT):
        (root / name).unlink(missing_ok=True)


def main() -> None:
    """Do what the task asks."""
    words = {"type": "list", "elements": "str", "default": []}
    module = AnsibleModule(
        argument_spec={
            "state": {"choices": ["tuned", "reset", "checked"], "default": "tuned"},
            "governor": {"default": ""},
            "turbo": {"type": "bool"},
            "swap": {"type": "bool"},
            "huge_pages": {"default": ""},
            "units_off": words,
            "hold": words,
            "max_cstate_us": {"type": "int"},
            "irq_cpus": {"default": ""},
            "port_range": {"type": "list", "elements": "int", "default": []},
            "tcp_tw_reuse": {"type": "int"},
            "service_cpus": {},
            "service_numa": {},
            "hostname": {"default": ""},
            "root": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    root = Path(module.params["root"])
    if module.params["state"] != "reset" and (refused := refusals(root, module.params)):
        module.fail_json(msg=f"baseline_{'; baseline_'.join(refused)}")
    if module.params["state"] == "checked":
        module.exit_json(changed=False, settings=[], left={})
    try:
        if module.params["state"] == "reset":
            settings, left = reset(root, check=module.check_mode)
        else:
            settings, left = tune(root, module.params, check=module.check_mode)
    except OSError as error:
        module.fail_json(msg=str(error))
    if module.params["state"] == "reset" and left:
        module.fail_json(msg="Not all was put back; what was found stays recorded", left=left)
    for name, reason in left.items():
        module.warn(f"{name} is left as it is: {reason}")
    module.exit_json(changed=bool(settings), settings=settings, left=left)


if __name__ == "__main__":
    main()
