"""The server of docs/guides/add-a-server.md, for the tests that add it to a copy of the project."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/guides/add-a-server.md"
BLOCKS = dict(re.findall(r"```\w+\n# (.+)\n((?:.*\n)+?)```\n", PAGE.read_text()))
"""The blocks of the page by the file that each of them is or belongs to."""
LISTED = BLOCKS.pop("lab.yml of the inventory")


def write_role(project: Path) -> None:
    """Write the role into a project."""
    for name, text in BLOCKS.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
