"""Compares the settings in force on a node with those declared for it."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.module_utils.host import output, read
from ansible.module_utils.running_jvms import UNITS, Jvm, java, release, unit_flags

# By their full names: mitogen transfers only modules that are imported in this way.
from ansible.module_utils.tuning import memory, processor, steps, units

Row = dict[str, str]

NETEM = ("link_delay_ms", "link_loss")
ABSENT = "(absent)"
TABLE = "inet rackbench"
LIST = f"nft --stateless list table {TABLE}"
TUNING = re.compile(r"-(?:X(?!log:gc:file=/run/rackbench-)|agent|javaagent)")
"""Flags that the inventory or a study declares; the others are in a unit's own file."""

ROOT = Path("/")
DROP_INS = "system*/rackbench-*.d/*.conf"
"""Those of `systemctl edit` and `systemctl set-property`, below /etc and with --runtime /run."""
KERNEL = "/proc/sys/"
SSHD = "/usr/sbin/sshd"
ALIASES = {"challengeresponseauthentication": "kbdinteractiveauthentication"}
"""Older names of settings, which sshd accepts and `sshd -T` does not print."""
SSHD_CONFIG = "/etc/ssh/sshd_config"
SSHD_DEFAULTS = "/etc/default/ssh"
FILE_OPTION = re.compile(r"""(?:^|[\s="'])-[46DdeiqTt]*f""")
NAMED_OPTION = re.compile(r"""(?:^|[\s="'])-[46DdeiqTt]*o[\s"']*(\w+)""")
"""The file and the settings that sshd is started with, also after flags without a value: `-Df`."""
STRANGER = "user=nobody,host=stranger.invalid,addr=192.0.2.1,laddr=192.0.2.2,lport=22"


def not_in_force(
    declared: Mapping[str, Any],
    jvms: Mapping[str, Jvm],
    link_mbit: float,
    carrier: Mapping[str, Any] | None = None,
) -> list[Row]:
    """Return the settings that differ from the declaration, with `item`, `value` and `others`.

    `declared` may name `jdk`, `jdks`, `jvms`, `units`, `drop_ins`, `units_off`, `links`, `sshd`,
    `packet_filter`, `sysctls`, `governor`, `turbo` and `swap` (compared if they are false),
    `huge_pages` (empty for any) and `link_mbit`, which is compared if the hardware reports its rate
    or if `link_is_shaped`. A shaped link is also compared in `link_delay_ms` and `link_loss`, which
    `carrier`, the link, has only if they are set.
    """
    rows: list[Row] = []
    if "jdk" in declared:
        rows += of_jdk("jdk", release(), declared["jdk"])
    for home, wanted in declared.get("jdks", {}).items():
        rows += of_jdk(f"jdks {home}", release(home), wanted)
    for service in declared.get("jvms", []):
        rows += of_jvm(service, jvms.get(f"rackbench-{service['name']}"))
    if "units" in declared:
        rows += of_units(declared["units"])
    rows += of_drop_ins(declared["drop_ins"]) if "drop_ins" in declared else ()
    for link, target in declared.get("links", {}).items():
        held = os.path.realpath(link) if Path(link).exists() else ""
        rows += one(f"links {link}", held, os.path.realpath(target))
    if "sshd" in declared:
        rows += of_sshd(declared["sshd"])
    if "packet_filter" in declared:
        rows += of_packet_filter(declared["packet_filter"])
    rows += of_sysctls(declared.get("sysctls", {}))
    rows += of_tuning(declared)
    rows += of_units_off(declared.get("units_off", ()))
    if declared.get("swap") is False:
        rows += of_swap()
    rate = float(declared.get("link_mbit") or 0)
    if declared.get("link_is_shaped") or (rate and link_mbit):
        rows += one("link_mbit", f"{link_mbit:g}", f"{rate:g}")
    for name in NETEM if declared.get("link_is_shaped") else ():
        held, asked = (float(told.get(name) or 0) for told in (carrier or {}, declared))
        rows += one(name, f"{held:.4g}", f"{asked:.4g}")
    return rows


def row(item: str, in_force: str, declared: str) -> Row:
    """Return a row of the table; an empty text means that something is absent."""
    return {"item": item, "value": in_force or ABSENT, "others": declared or ABSENT}


def one(item: str, in_force: str, declared: str) -> Iterator[Row]:
    """Yield a row if two texts differ."""
    if in_force != declared:
        yield row(item, in_force, declared)


def several(item: str, in_force: Iterable[str], declared: Iterable[str]) -> Iterator[Row]:
    """Yield a row with the texts that only one side has."""
    held, wanted = Counter(in_force), Counter(declared)
    more, fewer = (sorted(found.elements()) for found in (held - wanted, wanted - held))
    yield from one(item, " ".join(more), " ".join(fewer))


def of_jdk(item: str, version: str, wanted: object) -> Iterator[Row]:
    """Yield a row if a JDK has another release."""
    if version.partition(".")[0] != str(wanted):
        yield row(item, version, f"Java {wanted}")


def of_tuning(declared: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the settings of processors and memory that differ, as far as the node can have them."""
    asked = {name: declared.get(name) for name in ("governor", "huge_pages")}
    asked |= {"turbo": None if declared.get("turbo", True) else False, "max_cstate_us": None}
    for name, files in (processor.files(ROOT, asked) | memory.files(ROOT, asked)).items():
        if isinstance(files, steps.Left):
            continue
        held, wanted = {steps.chosen(path) for path in files}, set(files.values())
        if held != wanted:
            sides = (", ".join(sorted(held)), ", ".join(wanted))
            yield row(name, *(("on", "off") if name == "turbo" else sides))


def of_sysctls(declared: Mapping[str, object]) -> Iterator[Row]:
    """Yield the settings of the kernel that differ, of those that rackbench can set on the node."""
    for name, value in declared.items():
        path = KERNEL + name.replace(".", "/")
        if os.access(path, os.W_OK):
            held = read(path) or ""
            yield from one(f"sysctls {name}", " ".join(held.split()), " ".join(str(value).split()))


def of_jvm(service: Mapping[str, Any], jvm: Jvm | None) -> Iterator[Row]:
    """Yield the differences of a service's JVM."""
    unit = f"rackbench-{service['name']}"
    if jvm is None:
        yield row(f"services {service['name']}", "does not run", "runs")
        return
    heap = int(service["heap_mb"])
    options, in_file = service.get("options", ()), unit_flags(unit)
    # A declared flag counts as often as it is declared, or as the unit's file has it if that is
    # more often: a unit may have it anyway.
    own = Counter(flag for flag in in_file if not TUNING.match(flag)) - Counter(options)
    wanted = [f"-Xms{heap}m", f"-Xmx{heap}m", *options, *own.elements()]
    # An earlier study left them in the unit's own file, and the role takes them out.
    left = Counter(in_file) - Counter(wanted)
    for found in several(f"jvms {unit} flags", jvm.flags, wanted):
        is_left = found["others"] == ABSENT and not Counter(found["value"].split()) - left
        yield {**found, "others": "without them"} if is_left else found
    yield from one(f"jvms {unit} executable", jvm.executable, java(service.get("jdk") or ""))
    declared = service.get("directories", ())
    places = [one if isinstance(one, str) else one["directory"] for one in declared]
    yield from several(f"jvms {unit} directories", jvm.directories, places)


def of_units(declared: Iterable[str]) -> Iterator[Row]:
    """Yield each service that a node has from another group that it was in."""
    for path in sorted(UNITS.glob("rackbench-*.service")):
        if path.stem not in declared:
            mend = "left from another group: run playbooks/reset.yml for this node, then site.yml"
            yield row(f"units {path.stem}", mend, "")


def of_drop_ins(declared: Iterable[str]) -> Iterator[Row]:
    """Yield each drop-in of rackbench's own units that is not declared."""
    found = {path for top in ("etc", "run") for path in (ROOT / top / "systemd").glob(DROP_INS)}
    mend = "remove it and reboot the node, or list it in fingerprint_drop_ins"
    for path in sorted(f"/{one.relative_to(ROOT)}" for one in found):
        if path not in declared:
            yield row(f"units {Path(path).parent.name.removesuffix('.d')}", f"{path}: {mend}", "")


def of_units_off(declared: Sequence[str]) -> Iterator[Row]:
    """Yield each of these units that runs, or that systemd starts at boot."""
    for step in units.steps(ROOT, {"units_off": declared}):
        for name, was in step.found.items():
            yield row(f"units_off {name}", "runs" if was["active"] else "starts at boot", "off")


def of_swap() -> Iterator[Row]:
    """Yield a row if the node uses swap, or will at the next boot; a container has its host's."""
    if steps.in_container(ROOT):
        return
    if used := memory.in_use(ROOT):
        yield row("swap", f"in use: {', '.join(used)}", "off")
    elif not memory.is_masked():
        yield row("swap", f"starts at boot: {memory.SWAP}", "off")


def of_packet_filter(file: str) -> Iterator[Row]:
    """Yield the differences of the kernel's rules from a file, as an empty network lists it."""
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
    """Yield each setting of a file that sshd does not follow, with the clients and the place.

    sshd is asked for its settings for a stranger. It does not say to whom a Match block applies, so
    a block that sets another value is always reported.
    """
    asked = {words[0]: alike(words[1]) for _, _, words in sshd_lines(file)}
    for line in (read(SSHD_DEFAULTS) or "").splitlines():
        if re.match(r"\s*SSHD_OPTS\s*=", line) and overrides(line, asked):
            yield row("sshd options", f"{line.strip()}: {SSHD_DEFAULTS}", "none")
    told = output("systemctl", "show", "--property=ExecStart,Environment", "ssh.service") or ""
    for parts in re.findall(r"argv\[\]=(.*?) ; |^Environment=(.*)", told, re.MULTILINE):
        if overrides(given := "".join(parts), asked):
            yield row("sshd options", f"{given}: systemctl cat ssh.service", "none")
    lines = list(sshd_lines(SSHD_CONFIG))
    answer = output(SSHD, "-T", "-C", STRANGER)
    if answer is None or not asked:
        yield row("sshd", f"{SSHD} -T -C {STRANGER} fails" if asked else "", file)
        return
    is_read = any(place.startswith(f"{file}:") for place, _, _ in lines)
    missing = [] if is_read else [f"{SSHD_CONFIG} does not include {file}"]
    in_force = dict(line.partition(" ")[::2] for line in answer.splitlines())
    for keyword, wanted in asked.items():
        others = [line for line in lines if line[2][0] == keyword and alike(line[2][1]) != wanted]
        if (value := alike(in_force.get(keyword, ""))) != wanted:
            places = [place for place, whom, _ in others if not whom]
            where = ", ".join(places + missing) or "sshd's own default"
            yield row(f"sshd {keyword}", f"{value}: {where}", wanted)
        for place, whom, words in others:
            if whom:
                yield row(f"sshd {keyword}", f"{words[1]} for {whom}: {place}", wanted)


def overrides(options: str, asked: Iterable[str]) -> bool:
    """Return whether options of sshd name another file, or one of these settings.

    Others are a site's own, such as the AuthorizedKeysCommand of a cloud's image.
    """
    named = {name.lower() for name in NAMED_OPTION.findall(options)}
    settings = {ALIASES.get(name, name) for name in named}
    return bool(FILE_OPTION.search(options) or settings & {*asked, "include"})


def alike(value: str) -> str:
    """Return a value of sshd in small letters, with one word for two that mean the same."""
    return value.lower().replace("prohibit-password", "without-password")


def sshd_lines(file: str, whom: str = "") -> Iterator[tuple[str, str, list[str]]]:
    """Yield each line that sshd reads: its place, the clients that it applies to, its words."""
    for number, line in enumerate((read(file) or "").splitlines(), 1):
        word, *values = re.split(r"[\s=]+", line.partition("#")[0].replace('"', "").strip())
        keyword = ALIASES.get(word.lower(), word.lower())
        if keyword == "match":
            whom = " ".join(values)
        elif keyword == "include":
            for pattern in values:
                for path in sorted(Path("/").glob(str(Path(SSHD_CONFIG).parent / pattern)[1:])):
                    yield from sshd_lines(str(path), whom)
        elif values:
            yield f"{file}:{number}", whom, [keyword, *values]
