"""Fetches the jars of another tool by Maven's coordinates, and checks their checksums."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from bench_lab import said


def fetch(pinned: Path, jars: Path) -> None:
    """Put the jars of `pinned`/pom.xml into `jars`; exit if `pinned`/artefacts.sha256 differs."""
    maven = ["mvn", "--batch-mode", "--quiet", "--file", str(pinned / "pom.xml")]
    said([*maven, "dependency:copy-dependencies", f"-DoutputDirectory={jars}"])
    lines = (pinned / "artefacts.sha256").read_text().splitlines()
    wanted = {name: digest for digest, name in map(str.split, lines)}
    found = {jar.name: sha256(jar.read_bytes()).hexdigest() for jar in jars.glob("*.jar")}
    if wanted != found:
        wrong = sorted({name for name, _ in wanted.items() ^ found.items()})
        raise SystemExit(
            f"the jars of {pinned.name} are not those that are pinned: {', '.join(wrong)}; "
            f"see {pinned}/artefacts.sha256"
        )
