"""A back reference in a template is written so that Ansible reads it as one."""

import re

import pytest
from loading import ROOT

DOUBLED = re.compile(r"\\\\\d")
FILES = [*(ROOT / "playbooks").rglob("*.yml"), *(ROOT / "roles").rglob("*.yml")]


def in_double_quotes(line, place):
    """Return whether YAML itself takes one of the two backslashes away."""
    before = line[:place]
    return bool(re.match(r'^[^"\']*"', before))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_back_reference_has_a_backslash_too_many(file):
    lines = file.read_text(encoding="utf-8").splitlines()
    found = [
        line.strip()
        for line in lines
        for match in DOUBLED.finditer(line)
        if not in_double_quotes(line, match.start())
    ]
    assert found == []
