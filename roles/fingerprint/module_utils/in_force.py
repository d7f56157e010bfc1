"""What is in force on a node beside what was declared for it."""

from __future__ import annotations

import fnmatch
import grp
import ipaddress
import os
import pwd
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.module_utils.readings import output, read
from ansible.module_utils.running_jvms import Jvm, java, release, unit_flags

Row = dict[str, str]

ABSENT = "(absent)"
TABLE = "inet rackbench"
LIST = f"nft --stateless list table {TABLE}"
TUNING = re.compile(r"-(?:X(?!log:gc:file=/run/rackbench-)|agent|javaagent)")
"""Flags that the inventory or a study declares; a unit's own file tells the others."""

SSHD = "/usr/sbin/sshd"
SSHD_CONFIG = "/etc/ssh/sshd_config"
STRANGER = {
    "user": "nobody",
    "host": "stranger.invalid",
    "addr": "192.0.2.1",
    "laddr": "127.0.0.1",
    "lport": "22",
}


def not_in_force(
    declared: Mapping[str, Any], jvms: Mapping[str, Jvm], link_mbit: float
) -> list[Row]:
    """Return what is in force other than declared, each with `item`, `value` and `others`.

    `declared` may name `jdk`, `jvms`, `links`, `sshd`, `packet_filter` and `link_mbit`, which is
    compared where the hardware tells its rate, or where `link_is_shaped`.
    """
    rows: list[Row] = []
    if "jdk" in declared and release().split(".")[0] != str(declared["jdk"]):
        rows.append(row("jdk", release(), f"Java {declared['jdk']}"))
    for service in declared.get("jvms", []):
        rows += of_jvm(service, jvms.get(f"rackbench-{service['name']}"))
    for link, target in declared.get("links", {}).items():
        rows += one(f"links {link}", os.path.realpath(link) if Path(link).exists() else "", target)
    if "sshd" in declared:
        rows += of_sshd(declared["sshd"])
    if "packet_filter" in declared:
        rows += of_packet_filter(declared["packet_filter"])
    wanted = float(declared.get("link_mbit") or 0)
    if declared.get("link_is_shaped") or (wanted and link_mbit):
        rows += one("link_mbit", f"{link_mbit:g}", f"{wanted:g}")
    return rows


def row(item: str, in_force: str, declared: str) -> Row:
    """Return a row of the table; an empty text is something that is not there."""
    return {"item": item, "value": in_force or ABSENT, "others": declared or ABSENT}


def one(item: str, in_force: str, declared: str) -> Iterator[Row]:
    """Yield a row where a text is another."""
    if in_force != declared:
        yield row(item, in_force, declared)


def several(item: str, in_force: Iterable[str], declared: Iterable[str]) -> Iterator[Row]:
    """Yield a row with those of several texts that only one side has."""
    held, wanted = Counter(in_force), Counter(declared)
    more, fewer = (sorted(found.elements()) for found in (held - wanted, wanted - held))
    yield from one(item, " ".join(more), " ".join(fewer))


def of_jvm(service: Mapping[str, Any], jvm: Jvm | None) -> Iterator[Row]:
    """Yield how the JVM of a service runs otherwise."""
    unit = f"rackbench-{service['name']}"
    if jvm is None:
        yield row(f"services {service['name']}", "does not run", "runs")
        return
    heap = int(service["heap_mb"])
    own = (flag for flag in unit_flags(unit) if not TUNING.match(flag))
    # One that is declared and stands in the unit as well counts once.
    wanted = dict.fromkeys([f"-Xms{heap}m", f"-Xmx{heap}m", *service["options"], *own])
    yield from several(f"jvms {unit} flags", jvm.flags, list(wanted))
    yield from one(f"jvms {unit} executable", jvm.executable, java())
    yield from several(f"jvms {unit} directories", jvm.directories, service["directories"])


def of_packet_filter(file: str) -> Iterator[Row]:
    """Yield how the kernel's rules differ from a file of rules, as an empty network lists it."""
    wanted = output("unshare", "--net", "sh", "-c", f"nft --file {file} && {LIST}")
    if wanted is None:
        yield row("packet_filter", f"nftables does not take {file}", f"a table {TABLE}")
        return
    held, ruled = ((text or "").splitlines() for text in (output(*LIST.split()), wanted))
    if not held:
        yield row("packet_filter", f"no table {TABLE}", file)
    elif held != ruled:
        more = " / ".join(line.strip() for line in held if line not in ruled)
        fewer = " / ".join(line.strip() for line in ruled if line not in held)
        yield row("packet_filter", more, fewer or file)


def of_sshd(file: str) -> Iterator[Row]:
    """Yield each setting of a file that sshd does not go by, for whom, and where that is said.

    sshd is asked for a stranger, and for somebody to whom each Match block applies.
    """
    lines = list(sshd_lines(SSHD_CONFIG))
    asked = {keyword: values[0] for _, (keyword, *values) in sshd_lines(file)}
    if not asked:
        yield row("sshd", ABSENT, file)
    matches = [criteria for _, (keyword, *criteria) in lines if keyword == "match"]
    told = set()
    for criteria in [[], *matches] if asked else []:
        connection = ",".join(f"{key}={value}" for key, value in visitor(criteria).items())
        answer = output(SSHD, "-T", "-C", connection)
        if answer is None:
            yield row("sshd", f"sshd -T -C {connection} fails", file)
            return
        in_force = dict(line.lower().partition(" ")[::2] for line in answer.splitlines())
        for keyword, wanted in asked.items():
            value = alike(in_force.get(keyword, ""))
            if value != alike(wanted) and (keyword, value) not in told:
                told.add((keyword, value))
                yield row(f"sshd {keyword}", blame(file, lines, keyword, value, criteria), wanted)


def alike(value: str) -> str:
    """Return a value of sshd's as one of its two words for the same."""
    return value.lower().replace("prohibit-password", "without-password")


def blame(
    file: str, lines: Sequence[tuple[str, list[str]]], keyword: str, value: str, criteria: list[str]
) -> str:
    """Return a value of sshd's with whom it is for and the lines that set it."""
    places = [place for place, words in lines if words[0] == keyword and alike(words[1]) == value]
    if not any(place.startswith(f"{file}:") for place, _ in lines):
        places.append(f"{SSHD_CONFIG} does not include {file}")
    whom = f" for {' '.join(criteria)}" if criteria else ""
    return f"{value}{whom}: {', '.join(places)}"


def sshd_lines(file: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the words of each line of a settings file and of those that it includes, and where."""
    for number, line in enumerate((read(file) or "").splitlines(), 1):
        keyword, *words = re.split(r"[\s=]+", line.partition("#")[0].strip())
        values = [word.strip('"') for word in words]
        if keyword.lower() == "include":
            for pattern in values:
                for path in sorted(Path("/").glob(str(Path(SSHD_CONFIG).parent / pattern)[1:])):
                    yield from sshd_lines(str(path))
        elif values:
            yield f"{file}:{number}", [keyword.lower(), *values]


def visitor(criteria: Sequence[str]) -> dict[str, str]:
    """Return a connection that a Match line holds for; a stranger's for no line."""
    found = dict(STRANGER)
    for criterion, patterns in zip(criteria[::2], criteria[1::2], strict=False):
        pattern = next((p for p in patterns.split(",") if not p.startswith("!")), "")
        # A Match line has LocalAddress where a connection test has laddr.
        key = criterion.lower().replace("local", "l").replace("address", "addr")
        if key == "group":
            found["user"] = member_of(pattern)
        elif key in found:
            found[key] = example_of(pattern) or found[key]
    return found


def example_of(pattern: str) -> str:
    """Return a text for which a pattern of sshd's holds; of a network its first host."""
    try:
        network = ipaddress.ip_network(pattern, strict=False)
    except ValueError:
        return re.sub(r"[*?]", "1", pattern)
    return str(network[min(1, network.num_addresses - 1)])


def member_of(pattern: str) -> str:
    """Return an account of a group that a pattern names; the stranger where there is none."""
    groups = [group for group in grp.getgrall() if fnmatch.fnmatch(group.gr_name, pattern)]
    numbers = {group.gr_gid for group in groups}
    own = [account.pw_name for account in pwd.getpwall() if account.pw_gid in numbers]
    members = [*own, *(name for group in groups for name in group.gr_mem)]
    return members[0] if members else STRANGER["user"]
