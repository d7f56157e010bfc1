"""A copy of the project that the tests may write into: studies, results, a changed checksum."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
DIST = Path("java-apps/dist")

# Beside the study's own profiles: some that end soon, and two that cannot be planned.
PROFILES: dict[str, dict[str, Any]] = {
    "tiny": {
        "factors": {"servers": [1, 3], "integers": [300]},
        "replicates": 3,
        "calls": 4,
        "warmup": 1,
        "timeout_s": 60,
    },
    "one-server": {
        "factors": {"servers": [1], "integers": [300]},
        "replicates": 1,
        "calls": 4,
        "warmup": 1,
        "timeout_s": 60,
    },
    "three-servers": {
        "factors": {"servers": [1, 3], "integers": [300]},
        "replicates": 1,
        "calls": 4,
        "warmup": 1,
        "timeout_s": 60,
    },
    "interrupted": {
        "factors": {"servers": [1, 3], "integers": [300]},
        "replicates": 9,
        "calls": 4,
        "warmup": 1,
        "timeout_s": 120,
        "constants": {"call_timeout_s": 8},
    },
    "interrupted-long": {
        "factors": {"servers": [1, 3], "integers": [300]},
        "replicates": 21,
        "calls": 4,
        "warmup": 1,
        "timeout_s": 120,
        "constants": {"call_timeout_s": 8},
    },
    "disk": {
        "factors": {"servers": [1], "integers": [300]},
        "replicates": 8,
        "calls": 4,
        "warmup": 1,
        "timeout_s": 120,
        "constants": {"call_timeout_s": 8},
    },
    "blocks": {
        "factors": {"servers": [1], "integers": [300]},
        "restart": "block",
        "replicates": 2,
        "calls": 100,
        "warmup": 1,
        "timeout_s": 60,
        "profile_forks": 1,
    },
    "one-long-soap": {
        "factors": {"transport": ["soap"], "servers": [1], "integers": [5000]},
        "replicates": 1,
        "calls": 100,
        "warmup": 1,
        "timeout_s": 300,
    },
    "hung": {
        "factors": {"transport": ["soap"], "servers": [1], "integers": [5000]},
        "replicates": 1,
        "calls": 60,
        "warmup": 1,
        "timeout_s": 15,
    },
    "without": {
        "factors": {"transport": ["soap"], "servers": [1, 3], "integers": [300]},
        "replicates": 1,
        "calls": 4,
        "warmup": 1,
        "timeout_s": 60,
    },
    "pair": {
        "factors": {"transport": ["soap"], "servers": [1, 9], "integers": [300]},
        "replicates": 1,
        "calls": 4,
        "warmup": 1,
        "timeout_s": 60,
    },
    "wrong-type": {"factors": {"servers": [1], "integers": ["many"]}},
    "too-many-servers": {"factors": {"servers": [1, 9]}},
}

GROUPS: dict[str, Any] = {
    "factors": [
        {"transport": ["soap", "jms"], "link_mbit": links, "integers": [500], "heap": [heap]}
        for links, heap in (([10, 100], 64), ([100], 96))
    ],
    "node": {"tomcat_heap_mb": "heap"},
    "calls": 5,
    "warmup": 2,
    "timeout_s": 60,
}
OF_LINK: dict[str, dict[str, Any]] = {
    "groups": {**GROUPS, "replicates": 1},
    "groups-long": {**GROUPS, "replicates": 2},
    "mixed": {
        "factors": [
            {
                "transport": ["jms"],
                "link_mbit": [100],
                "integers": [500],
                "backlog": backlogs,
                "stored": stored,
                "stack": stacks,
            }
            for backlogs, stored, stacks in (
                ([128, 1024], ["written"], ["-Xss768k"]),
                ([128], ["synced"], ["-Xss768k"]),
                ([128], ["written"], ["-Xss512k"]),
            )
        ],
        "node": {
            "sysctl.net.core.somaxconn": "backlog",
            "persistence": "stored",
            "server_jvm_options": {"workers": "stack"},
        },
        "restart": "block",
        "stop": {"half_width": 0.99, "looks": [5, 6]},
        "replicates": 6,
        "calls": 200,
        "warmup": 200,
        "timeout_s": 60,
    },
}


def small_study(name: str, **keys: Any) -> dict[str, Any]:
    """Return a study whose client is a program, with a profile `demo` that ends soon."""
    common: dict[str, Any] = {"schema": 1, "study": name, "title": name, "constants": {}}
    soon = {"calls": 1, "warmup": 0, "timeout_s": 60, "restart": "none"}
    return {**common, **soon, "seed": 1, "replicates": 1, "profiles": {"demo": {}}, **keys}


ON_TWO_JDKS = {
    "encoding": ["mime"],
    "collector": ["parallel"],
    "heap_mb": [96],
    "matrix": [10],
    "server_jdk": [21, 25],
    "client_jdk": [21, 25],
}
OF_JVM: dict[str, dict[str, Any]] = {
    "jdks": {
        "factors": [ON_TWO_JDKS],
        "constants": {"client_heap_mb": 64, "jdk": "client_jdk"},
        "node": {"jdk": "server_jdk"},
        "replicates": 2,
        "calls": 5,
        "warmup": 2,
        "timeout_s": 60,
    },
    "no-such-jdk": {
        "factors": [{**ON_TWO_JDKS, "server_jdk": [21], "client_jdk": [21, 26]}],
        "constants": {"client_heap_mb": 64, "jdk": "client_jdk"},
        "node": {"jdk": "server_jdk"},
        "replicates": 1,
    },
}

OF_THE_HARNESS: dict[str, dict[str, Any]] = {
    "pair": {
        "factors": {"workload": ["noop"], "concurrency": [1]},
        "replicates": 1,
        "calls": 1000,
        "warmup": 10,
    },
    "clock": {
        "factors": {"workload": ["noop"], "concurrency": [1]},
        "replicates": 2,
        "calls": 1_500,
        "warmup": 10,
    },
}

# Calls that come at a rate, over both transports; a trial takes a few seconds.
OPEN_LOOP: dict[str, Any] = {
    "factors": {"servers": [1], "integers": [300]},
    "arrival": {"rate": {"from": 20, "to": 40, "steps": 2}, "spacing": "poisson", "lead_s": 1},
    "restart": "none",
    "calls": 5,
    "warmup": 10,
    "timeout_s": 120,
    "constants": {"call_timeout_s": 8},
}
OF_LOAD: dict[str, dict[str, Any]] = {
    "interrupted": {**OPEN_LOOP, "replicates": 1},
    "interrupted-long": {**OPEN_LOOP, "replicates": 2},
    # Its first trial lasts for nine minutes, and takes hardly any of a processor.
    "busy": {
        "factors": {"servers": [1], "integers": [300]},
        "arrival": {"rate": {"from": 5, "to": 6, "steps": 2}, "spacing": "even", "lead_s": 1},
        "restart": "none",
        "replicates": 1,
        "calls": 350,
        "warmup": 10,
        "timeout_s": 900,
    },
}

SMALL_HEAPS = {"tomcat_heap_mb": 96, "worker_heap_mb": 48, "broker_heap_mb": 96}
# For machines in emulation, where a JVM takes half a minute to start.
OF_OVERHEAD: dict[str, dict[str, Any]] = {
    "emulated": {
        "factors": {
            "experiment": ["size"],
            "protocol": ["tcp", "soap"],
            "reply_bytes": [1, 20000],
            "elements": [1],
        },
        "node": SMALL_HEAPS,
        "replicates": 2,
        "calls": 10,
        "warmup": 5,
        "timeout_s": 600,
    },
    "held": {
        "factors": {
            "experiment": ["size"],
            "protocol": ["soap"],
            "reply_bytes": [1],
            "elements": [1],
        },
        "node": SMALL_HEAPS,
        "restart": "none",
        "replicates": 1,
        "calls": 20,
        "warmup": 5,
        "timeout_s": 1800,
    },
}


@dataclass(frozen=True)
class Project:
    """A directory with everything a fresh clone has, the built artefacts and the `.venv`."""

    root: Path

    @property
    def playbook_command(self) -> Path:
        """The pinned ansible-playbook."""
        return self.root / ".venv/bin/ansible-playbook"

    def results(self, run: str) -> Path:
        """Where a run's trials arrive."""
        return self.root / "results" / run

    def collect(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the collect command as a user would."""
        return subprocess.run(
            [self.root / ".venv/bin/collect", *arguments],
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
        )


def copy_project(target: Path, workers: int) -> Project:
    """Copy what git would give a clone, the artefacts as built, and the tests' own profiles.

    Its virtual lab has so many workers.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    shutil.copytree(ROOT / DIST, target / DIST)
    (target / ".venv").symlink_to(ROOT / ".venv")
    profiles_of = {
        "sort": PROFILES,
        "harness": OF_THE_HARNESS,
        "overhead": OF_OVERHEAD,
        "load": OF_LOAD,
        "link": OF_LINK,
        "jvm": OF_JVM,
    }
    for study, profiles in profiles_of.items():
        file = target / f"playbooks/studies/{study}.yml"
        content = yaml.safe_load(file.read_text())
        # Restarts take longer than these trials; a profile says so where it is about them.
        own = {name: {"restart": "none", **profile} for name, profile in profiles.items()}
        content["profiles"].update(own)
        file.write_text(yaml.safe_dump(content, sort_keys=False))
    inventory = target / "inventory/virtual/hosts.yml"
    described = inventory.read_text()
    assert "worker[1:5]:" in described
    inventory.write_text(described.replace("worker[1:5]:", f"worker[1:{workers}]:"))
    _commit(target)
    return Project(target)


def _commit(directory: Path) -> None:
    """Make the copy a clean clone, because a run records its commit."""
    git = ["git", "-c", "user.name=lab tests", "-c", "user.email=tests@localhost"]
    subprocess.run([*git, "init", "--quiet"], cwd=directory, check=True)
    (directory / ".git/info/exclude").write_text(".venv\n")
    subprocess.run([*git, "add", "--all"], cwd=directory, check=True)
    subprocess.run([*git, "commit", "--quiet", "--message=as tested"], cwd=directory, check=True)
