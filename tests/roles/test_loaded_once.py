"""The plug-in that loads filters and tests once."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml
from ansible._internal._templating._jinja_bits import AnsibleEnvironment
from ansible.template import Templar, trust_as_template
from loading import ROOT, load

loaded_once = load("playbooks/callback_plugins/loaded_once.py")

NODES = ["rack01", "rack02", "rack03"]
# A file of filters, and one of tests, that notes each process that loads it.
NOTING = """
import os
open({notes!r}, "a").write(f"{{os.getpid()}}\\n")
class {kind}Module:
    def {method}(self):
        return {{"noted": lambda value: bool(value)}}
"""


def test_tasks_of_all_nodes_inherit_the_filters_and_tests_of_roles(tmp_path: Path) -> None:
    role = tmp_path / "roles/noting"
    notes = {"filter": tmp_path / "filters", "test": tmp_path / "tests"}
    for name, file in notes.items():
        plugins = role / f"{name}_plugins"
        plugins.mkdir(parents=True)
        text = NOTING.format(notes=str(file), kind=name.title(), method=f"{name}s")
        (plugins / "noting.py").write_text(text)
    asserted = {"that": ["1 | noted", "1 is noted"]}
    (role / "tasks").mkdir()
    (role / "tasks/main.yml").write_text(
        yaml.safe_dump([{"name": "Note", "ansible.builtin.assert": asserted}] * 2)
    )
    hosts = {name: {"ansible_connection": "local"} for name in NODES}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
    play = {"name": "Note", "hosts": "all", "gather_facts": False, "roles": ["noting"]}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    play_it = [ROOT / ".venv/bin/ansible-playbook", "-i", tmp_path / "hosts.yml"]
    kept = {"ANSIBLE_LOCAL_TEMP": str(tmp_path / "kept")}
    subprocess.run([*play_it, tmp_path / "play.yml"], cwd=ROOT, env=os.environ | kept, check=True)
    assert [len(file.read_text().split()) for file in notes.values()] == [1, 1]
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_template_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[str] = []
    compiled = AnsibleEnvironment.compile

    def noted(self: AnsibleEnvironment, source: str) -> object:
        times.append(source)
        return compiled(self, source)

    def rendered(text: str, **options: object) -> object:
        return Templar(variables={"word": "hi"}).template(trust_as_template(text), **options)

    monkeypatch.setattr(AnsibleEnvironment, "compile", noted)
    loaded_once.compile_once(tmp_path)
    assert [rendered("{{ word }}!") for _ in range(2)] == ["hi!", "hi!"]
    assert times == ["{{ word }}!"]
    # The same text has another meaning by its backslashes.
    text = r"{{ 'a\\tb' }}"
    assert rendered(text, escape_backslashes=True) != rendered(text, escape_backslashes=False)
    assert times == ["{{ word }}!", text, text]
