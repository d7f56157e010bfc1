"""A back reference in a template is written so that Ansible reads it as one."""

import re

import pytest
import yaml
from loading import ROOT

DOUBLED = re.compile(r"\\\\\d")
FILES = [*(ROOT / "playbooks").rglob("*.yml"), *(ROOT / "roles").rglob("*.yml")]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_back_reference_has_a_backslash_too_many(file):
    events = yaml.parse(file.read_text(encoding="utf-8"))
    texts = [event.value for event in events if isinstance(event, yaml.ScalarEvent)]
    assert [text for text in texts if DOUBLED.search(text)] == []
