"""The jars of a foreign tool, by Maven's coordinates and proven by their checksums."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from bench_lab import said


def fetch(pinned: Path, jars: Path) -> None:
    """Put what `pinned`/pom.xml names into `jars`; anything but `pinned`/artefacts.sha256 ends."""
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
