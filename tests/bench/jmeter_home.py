"""Apache JMeter, put together from its jars."""

from __future__ import annotations

import shutil
from hashlib import sha256
from pathlib import Path

from bench_lab import said

PINNED = Path(__file__).parent / "jmeter"


def jmeter_home(state: Path) -> Path:
    """JMeter in `state`, proven by its checksums and laid out as it finds its parts."""
    home = state / "jmeter"
    for part in ("bin", "lib/ext", "lib/junit"):
        (home / part).mkdir(parents=True)
    jars = home / "lib"
    maven = ["mvn", "--batch-mode", "--quiet", "--file", str(PINNED / "pom.xml")]
    said([*maven, "dependency:copy-dependencies", f"-DoutputDirectory={jars}"])
    lines = (PINNED / "artefacts.sha256").read_text().splitlines()
    wanted = {name: digest for digest, name in map(str.split, lines)}
    found = {jar.name: sha256(jar.read_bytes()).hexdigest() for jar in jars.glob("*.jar")}
    if wanted != found:
        wrong = sorted(name for name, _ in wanted.items() ^ found.items())
        raise SystemExit(f"JMeter's jars are not those that are pinned: {', '.join(set(wrong))}")
    (config,) = jars.glob("ApacheJMeter_config-*.jar")
    shutil.unpack_archive(config, state / "jmeter-config", "zip")
    shutil.copytree(state / "jmeter-config/bin", home / "bin", dirs_exist_ok=True)
    for jar in jars.glob("ApacheJMeter_*.jar"):
        jar.rename(home / "lib/ext" / jar.name)
    (launcher,) = jars.glob("ApacheJMeter-*.jar")
    launcher.rename(home / "bin/ApacheJMeter.jar")
    return home
