"""What modules share: commands, files that are written whole, and how a node gets it."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from ansible_mitogen import module_finder
from loading import ROOT, SHARED, load

host = load("playbooks/module_utils/host.py")


def test_a_command_prints_or_says_why_not():
    assert host.run("sh", "-c", 'cat; echo "$A"', stdin="in ", environment={"A": "b"}) == "in b\n"
    with pytest.raises(host.HostError, match=r"^sh -c .* failed: bad\nworse$"):
        host.run("sh", "-c", "echo worse; echo bad >&2; exit 3")
    with pytest.raises(OSError, match=r"^/none/such is not installed; install it$"):
        host.run("/none/such")
    assert host.output("echo", " a ") == "a"
    assert (host.output("false"), host.output("/none/such")) == (None, None)
    assert (host.succeeds("true"), host.succeeds("false")) == (True, False)


def test_a_file_is_written_whole(tmp_path, monkeypatch):
    file = tmp_path / "a/b.conf"
    assert host.text_of(file) == ""
    host.write(file, "one\n", 0o600)
    assert (host.text_of(file), file.stat().st_mode & 0o777) == ("one\n", 0o600)
    monkeypatch.setattr(host.os, "fsync", kill)
    with pytest.raises(KeyboardInterrupt):
        host.write(file, "two\n")
    assert file.read_text() == "one\n"
    monkeypatch.undo()
    host.write(file, "two\n")
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("two\n", 0o644)
    assert list(file.parent.iterdir()) == [file]


def kill(_):
    raise KeyboardInterrupt


PROBE = """\
from ansible.module_utils import host
from ansible.module_utils.basic import AnsibleModule

module = AnsibleModule(argument_spec={})
module.exit_json(changed=False, said=host.run("echo", "shared").strip())
"""

PYTHON = ("-e", "ansible_python_interpreter={{ ansible_playbook_python }}")


@pytest.mark.parametrize("strategy", ["linear", "mitogen_all_cores"])
def test_a_module_of_any_role_finds_it_from_any_directory(tmp_path, strategy):
    role = tmp_path / "roles/probe"
    for place in ("library", "tasks"):
        (role / place).mkdir(parents=True)
    (role / "library/probe.py").write_text(PROBE)
    tasks = [{"probe": None, "register": "told"}, {"ansible.builtin.debug": {"var": "told.said"}}]
    (role / "tasks/main.yml").write_text(yaml.safe_dump(tasks))
    play = {"hosts": "localhost", "gather_facts": False, "roles": ["probe"]}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        [
            ROOT / ".venv/bin/ansible-playbook",
            "-i",
            "localhost,",
            "-c",
            "local",
            *PYTHON,
            "play.yml",
        ],
        cwd=tmp_path,
        env=environment
        | {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_ROLES_PATH": "roles"}
        | {"ANSIBLE_STRATEGY": strategy, "ANSIBLE_DEPRECATION_WARNINGS": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "told.said: shared" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    "module",
    [
        "baseline/library/tuning",
        "fingerprint/library/fingerprint",
        "virtual_lab/library/virtual_lab",
    ],
)
def test_mitogen_sends_every_part_of_a_module(module):
    """It follows no relative import, so absolute ones must name all parts."""
    path = ROOT / f"roles/{module}.py"
    found = module_finder.scan(path.stem, str(path), [str(place) for place in SHARED])
    sent = {Path(place) for _, place, _ in found}
    assert ROOT / "playbooks/module_utils/host.py" in sent
    for place in sent:
        relative = re.findall(
            r"(?m)^from \.(?:(\w+)| import (.+?)(?: as \w+)?$)", place.read_text()
        )
        names = [name for one, several in relative for name in [one, *several.split(", ")] if name]
        assert {place.with_name(f"{name}.py") for name in names} <= sent
