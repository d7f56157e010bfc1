"""Refuses banned phrases in pages, messages and comments: docs/tooling/banned.yml lists them."""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import yaml

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("banned.yml")
_READ = {
    *(".md", ".py", ".yml", ".j2", ".json", ".java", ".toml", ".cfg", ".sh", ".html", ".cff"),
    *(".csv", ".tmpl", ""),
}
_NOT_OURS = (
    *("tests/unit/docs/test_doc_words.py", "docs/tooling/banned.yml"),
    *("docs/replication/paper-", "LICENSE"),
)
"""Not checked: what quotes the phrases; pages that commands print; texts of others."""
_GAP = r"(?:\s+(?:[#*>|]+|//)?\s*)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print each banned phrase with its place and what to write; exit code 1 if there is any."""
    named = list(sys.argv[1:] if arguments is None else arguments)
    files = [Path(name) for name in named] or list(_tracked())
    texts = ((str(path), path.read_text(encoding="utf-8")) for path in files)
    found = [line for name, text in texts for line in findings(text, name)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


def findings(text: str, name: str) -> Iterator[str]:
    """Yield a line for each banned phrase in a text, as NAME:LINE: what it is and what to write."""
    for pattern, instead in _phrases():
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            phrase = " ".join(match[0].split())
            yield f"{name}:{line}: '{phrase}'; write instead: {instead}"


def _phrases() -> list[tuple[re.Pattern[str], str]]:
    banned = yaml.safe_load(LIST.read_text(encoding="utf-8"))
    return [
        (re.compile(rf"(?<![\w.-]){one['phrase'].replace(' ', _GAP)}(?![\w-])", re.I), one["write"])
        for one in banned
    ]


def _tracked() -> Iterator[Path]:
    names = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=True, text=True
    ).stdout.split("\0")
    for name in filter(None, names):
        path = ROOT / name
        is_text = PurePosixPath(name).suffix in _READ and not name.startswith(_NOT_OURS)
        if is_text and path.is_file() and not path.is_symlink():
            yield path


if __name__ == "__main__":
    sys.exit(main())
