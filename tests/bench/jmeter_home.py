"""Assembles Apache JMeter from its jars."""

from __future__ import annotations

import shutil
from pathlib import Path

import pinned_jars

PINNED = Path(__file__).parent / "jmeter"


def jmeter_home(state: Path) -> Path:
    """Return the home of JMeter in `state`, with checked checksums and in JMeter's layout."""
    home = state / "jmeter"
    if home.exists():
        return home
    for part in ("bin", "lib/ext", "lib/junit"):
        (home / part).mkdir(parents=True)
    jars = home / "lib"
    pinned_jars.fetch(PINNED, jars)
    (config,) = jars.glob("ApacheJMeter_config-*.jar")
    shutil.unpack_archive(config, state / "jmeter-config", "zip")
    shutil.copytree(state / "jmeter-config/bin", home / "bin", dirs_exist_ok=True)
    for jar in jars.glob("ApacheJMeter_*.jar"):
        jar.rename(home / "lib/ext" / jar.name)
    (launcher,) = jars.glob("ApacheJMeter-*.jar")
    launcher.rename(home / "bin/ApacheJMeter.jar")
    return home
