#!/usr/bin/python
"""Manages the broker's queues, and the administered objects by which clients find them."""

DOCUMENTATION = r"""
module: broker_objects
short_description: Sets the broker's queues, and writes a sample of its administered objects
description:
  - Asks the running broker once for its queues and creates the missing ones, a few at a time. A
    queue that is not listed stays; the access list closes it to everybody.
  - Applies these settings to queues that have others. The broker's answer for each queue is kept in
    C(record), which anybody may read; a queue is read again only after it was set.
  - Writes a JNDI file store with the connection factory and one queue, C(sample). It is the model
    of each client's own store, because queues differ only in their names.
options:
  home: {description: Directory of the OpenMQ distribution, type: path, required: true}
  admin_port: {description: Port of the admin service on loopback, type: int, required: true}
  passfile: {description: File with the administrator's password, type: path, required: true}
  queues: {description: Names of the queues, type: list, elements: str, required: true}
  queue_settings: {description: Settings of each queue, type: dict, required: true}
  record: {description: JSON file with the broker's record of queues, type: path, required: true}
  factory: {description: Properties of the connection factory, type: dict, required: true}
  store: {description: Directory of the store, type: path, required: true}
"""

EXAMPLES = r"""
- name: Create the queues that are missing
  broker_objects:
    home: /opt/rackbench/openmq-0123456789ab/mq
    admin_port: 7678
    passfile: /etc/rackbench/openmq/admin.passfile
    queues: [sort.pool1, sort.pool3]
    queue_settings: {maxNumActiveConsumers: -1}
    record: /etc/rackbench/queues.json
    factory: {imqAddressList: "mq://192.168.1.12:7676/jms"}
    store: /etc/rackbench/openmq/objects
"""

import json
import os
import re
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible.module_utils import host
from ansible.module_utils.basic import AnsibleModule

SAMPLE = "sample"
SETTING = re.compile(r"Max |Limit Behavior|Consumer Flow Limit|Use Dead|Validate XML|Is Local")
# For the tools, whose JVMs live for a second.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -Xmx64m"
OF_TOOLS = {"IMQ_JAVAHOME": "/opt/rackbench/jdk", "JAVA_TOOL_OPTIONS": SHORT_LIVED}


def run(home: str, tool: str, *arguments: str) -> str:
    """Return the output of a tool of OpenMQ."""
    clean = ("env", "-u", "JDK_JAVA_OPTIONS", "-u", "_JAVA_OPTIONS")
    return str(host.run(*clean, "sh", f"{home}/bin/{tool}", *arguments, environment=OF_TOOLS))


def settings(given: dict[str, Any]) -> list[str]:
    """Return properties in the tools' form."""
    return [word for name, value in given.items() for word in ("-o", f"{name}={value}")]


def ask(wanted: dict[str, Any], verb: str, *arguments: str) -> str:
    """Return what the broker answers to its administrator's command about queues."""
    address = f"mqtcp://127.0.0.1:{wanted['admin_port']}/admin"
    account = ("-b", address, "-u", "admin", "-passfile", wanted["passfile"])
    return run(wanted["home"], "imqcmd", verb, "dst", "-t", "q", *arguments, *account)


def queues(wanted: dict[str, Any]) -> set[str]:
    """Return the names of the broker's queues."""
    return set(re.findall(r"(?m)^(\S+) +Queue ", ask(wanted, "list")))


def each(wanted: dict[str, Any], verb: str, names: list[str], *arguments: str) -> list[str]:
    """Run a command for each queue, as many at a time as processors; return the answers."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda name: ask(wanted, verb, "-n", name, *arguments), names))


def limits(queried: str) -> dict[str, str]:
    """Return the settings in the output of `imqcmd query dst`: limits, without present counts."""
    rows = re.findall(r"(?m)^(\w[\w ()]*?)(?: {2,}|\t+)(\S.*?) *$", queried)
    return {name: value for name, value in rows if SETTING.match(name)}


def recorded(record: Path, inputs: str) -> dict[str, dict[str, str]]:
    """Return the record of the queues that were set to `inputs`."""
    try:
        known = json.loads(record.read_text())
    except (OSError, ValueError):
        return {}
    found: dict[str, dict[str, str]] = known["queues"] if known.get("inputs") == inputs else {}
    return found


def write_store(home: str, store: Path, factory: dict[str, Any], inputs: str) -> None:
    """Write the store next to its place and move it there."""
    store.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=store.parent, prefix=f".{store.name}.") as scratch:
        place = Path(scratch, "store")
        place.mkdir(mode=0o755)
        into = [
            *("-j", "java.naming.factory.initial=com.sun.jndi.fscontext.RefFSContextFactory"),
            *("-j", f"java.naming.provider.url=file://{place}"),
        ]
        run(home, "imqobjmgr", "add", "-f", "-t", "qf", "-l", "ConnectionFactory",
            *settings(factory), *into)  # fmt: skip
        run(home, "imqobjmgr", "add", "-f", "-t", "q", "-l", SAMPLE,
            *settings({"imqDestinationName": SAMPLE}), *into)  # fmt: skip
        written = place / ".bindings"
        lines = written.read_text().splitlines()
        # Without the date, equal brokers have equal files.
        dateless = sorted(line for line in lines if not line.startswith("#"))
        written.write_text("\n".join([*dateless, ""]))
        written.chmod(0o644)
        (place / "inputs").write_text(inputs)
        shutil.rmtree(store, ignore_errors=True)
        place.rename(store)


def main() -> None:
    """Create what is missing."""
    text = {"type": "path", "required": True}
    mapping = {"type": "dict", "required": True}
    module = AnsibleModule(
        argument_spec={
            "home": text,
            "admin_port": {"type": "int", "required": True},
            "passfile": {**text, "no_log": False},
            "queues": {"type": "list", "elements": "str", "required": True},
            "queue_settings": mapping,
            "factory": mapping,
            "store": text,
            "record": text,
        },
        supports_check_mode=True,
    )
    wanted = module.params
    store = Path(wanted["store"])
    inputs = json.dumps([wanted["home"], wanted["factory"]], sort_keys=True) + "\n"
    record, given = Path(wanted["record"]), wanted["queue_settings"]
    set_to = json.dumps(given, sort_keys=True)
    known = recorded(record, set_to)
    present: set[str] = set()
    try:
        # In check mode it may be missing, down, or about to get another port or password.
        with suppress(*[host.HostError] if module.check_mode else []):
            present = queues(wanted)
        missing = sorted(set(wanted["queues"]) - present)
        unset = sorted((set(wanted["queues"]) & present) - set(known))
        is_whole = (store / ".bindings").is_file()
        stale = not is_whole or host.text_of(store / "inputs") != inputs
        if not module.check_mode:
            each(wanted, "create", missing, *settings(given))
            each(wanted, "update", unset, "-f", *settings(given))
            if fresh := [*missing, *unset]:
                known |= dict(zip(fresh, map(limits, each(wanted, "query", fresh)), strict=True))
                told = {"inputs": set_to, "queues": dict(sorted(known.items()))}
                host.write(record, json.dumps(told, indent=1) + "\n")
            if stale:
                write_store(wanted["home"], store, wanted["factory"], inputs)
    except host.HostError as error:
        module.fail_json(msg=f"{error}; read the journal of rackbench-broker.service")
    module.exit_json(changed=bool(missing or unset) or stale)


if __name__ == "__main__":
    main()
