#!/usr/bin/python
"""What a node is: hardware, kernel, packages and the kit's own files, as one dictionary."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fingerprint
short_description: Takes the fingerprint of a node
description:
  - Reads what may make two nodes differ as measuring instruments. Changes nothing.
  - An item that cannot be read on this node is absent, not empty.
options:
  files:
    description: Files and directories whose content belongs to the fingerprint, as glob patterns.
    type: list
    elements: str
    default: []
  sysctls: {description: Kernel settings to read, type: list, elements: str, default: []}
  address: {description: The node's address on the lab network, type: str, required: true}
"""

RETURN = r"""
fingerprint:
  description: The items, by name.
  type: dict
  returned: always
"""

import hashlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import platform  # noqa: E402
import re  # noqa: E402
import shutil  # noqa: E402
import subprocess  # noqa: E402
from pathlib import Path  # noqa: E402

from ansible.module_utils.basic import AnsibleModule  # noqa: E402


def read(path: str) -> str | None:
    """A small file's text, or None where it is not there or may not be read."""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def output(*argv: str) -> str | None:
    """What a command prints, or None where it is missing or fails."""
    if not shutil.which(argv[0]):
        return None
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip() if done.returncode == 0 else None


def processor() -> dict[str, object]:
    """Model, cores, microcode, governor and turbo of the CPU."""
    info = read("/proc/cpuinfo") or ""
    fields = {
        key.strip(): value.strip() for key, value in re.findall(r"^([^:\n]+):(.*)$", info, re.M)
    }
    base = "/sys/devices/system/cpu"
    return {
        "cpu_model": fields.get("model name"),
        "cores": os.cpu_count(),
        "microcode": fields.get("microcode"),
        "governor": read(f"{base}/cpu0/cpufreq/scaling_governor"),
        "no_turbo": read(f"{base}/intel_pstate/no_turbo"),
        "boost": read(f"{base}/cpufreq/boost"),
    }


def memory() -> dict[str, object]:
    """Memory and swap, in MiB, and the huge page setting."""
    info = dict(re.findall(r"^(\w+):\s+(\d+)", read("/proc/meminfo") or "", re.M))
    return {
        "memory_mb": int(info["MemTotal"]) // 1024,
        "swap_mb": int(info.get("SwapTotal", 0)) // 1024,
        "huge_pages": read("/sys/kernel/mm/transparent_hugepage/enabled"),
    }


def link(address: str) -> dict[str, object]:
    """The link that carries the lab's address: driver, speed, duplex, MTU and shaped rate."""
    for entry in json.loads(output("ip", "-json", "-4", "address", "show") or "[]"):
        if address in (info["local"] for info in entry["addr_info"]):
            device = f"/sys/class/net/{entry['ifname']}"
            driver = Path(device, "device/driver")
            queues = json.loads(
                output("tc", "-json", "qdisc", "show", "dev", entry["ifname"]) or "[]"
            )
            rates = [row["options"]["rate"] for row in queues if row["kind"] == "tbf"]
            return {
                "link_device": entry["ifname"],
                "link_mtu": entry["mtu"],
                "link_driver": driver.resolve().name if driver.exists() else None,
                "link_speed_mbit": read(f"{device}/speed"),
                "link_duplex": read(f"{device}/duplex"),
                "link_shaped_mbit": rates[0] * 8 / 1e6 if rates else None,
            }
    return {}


def packages() -> dict[str, object]:
    """Every installed package with its version, and their hash."""
    listed = output("dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Package} ${Version}\n") or ""
    installed = sorted(line[3:] for line in listed.splitlines() if line.startswith("ii "))
    return {
        "packages": dict(line.split(" ", 1) for line in installed),
        "packages_sha256": hashlib.sha256("\n".join(installed).encode()).hexdigest(),
    }


def digest(path: Path) -> tuple[str, str]:
    """A file's path and SHA-256."""
    with path.open("rb") as stream:
        return str(path), hashlib.file_digest(stream, "sha256").hexdigest()


def files(patterns: list[str]) -> dict[str, str]:
    """SHA-256 of every file that the patterns name."""
    found = {path for pattern in patterns for path in Path("/").glob(pattern.lstrip("/"))}
    return dict(sorted(digest(path) for path in found if path.is_file()))


def main() -> None:
    """Answer with the items that could be read."""
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "list", "elements": "str", "default": []},
            "sysctls": {"type": "list", "elements": "str", "default": []},
            "address": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    release = platform.freedesktop_os_release()
    items: dict[str, object] = {
        "os": release.get("PRETTY_NAME"),
        "kernel": platform.release(),
        "kernel_command_line": read("/proc/cmdline"),
        "architecture": platform.machine(),
        "time_zone": os.path.realpath("/etc/localtime").removeprefix("/usr/share/zoneinfo/"),
        "jdk": output("java", "--version"),
        "failed_units": output("systemctl", "--failed", "--plain", "--no-legend"),
        "sysctls": {
            name: value
            for name in module.params["sysctls"]
            if (value := read("/proc/sys/" + name.replace(".", "/"))) is not None
        },
        "files": files(module.params["files"]),
        **processor(),
        **memory(),
        **link(module.params["address"]),
        **packages(),
    }
    module.exit_json(
        changed=False,
        fingerprint={name: value for name, value in items.items() if value is not None},
    )


if __name__ == "__main__":
    main()
